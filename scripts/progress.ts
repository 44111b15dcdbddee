const WIDTH = 30;
const FRAME_MS = 100;
/** Work that is done at once needs no bar. */
const LONG_BYTES = 32 * 1024 * 1024;

let drawnAtMs = 0;

/** Draws how much of a long work is done, ten times a second at most, where somebody is looking. */
export function drawProgress(what: string, doneBytes: number, totalBytes: number): void {
  if (!process.stderr.isTTY || totalBytes < LONG_BYTES) return;
  const isDone = doneBytes >= totalBytes;
  if (!isDone && performance.now() - drawnAtMs < FRAME_MS) return;
  drawnAtMs = performance.now();
  const share = doneBytes / totalBytes;
  const bar = "█".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "░");
  const line = `${what.padEnd(9)} ${bar} ${String(Math.floor(share * 100)).padStart(3)} %`;
  process.stderr.write(isDone ? "\r\x1b[K" : `\r${line}`);
}
