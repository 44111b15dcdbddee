const WIDTH = 30;
const FRAME_INTERVAL_MS = 100;
/** Smaller amounts of work are shown without a bar. */
const MIN_BYTES = 32 * 1024 * 1024;

let drawnAtMs = 0;

/** Draws a progress bar on a terminal, at most ten times a second. */
export function drawProgress(label: string, doneBytes: number, totalBytes: number): void {
  if (!process.stderr.isTTY || totalBytes < MIN_BYTES) return;
  const isDone = doneBytes >= totalBytes;
  if (!isDone && performance.now() - drawnAtMs < FRAME_INTERVAL_MS) return;
  drawnAtMs = performance.now();
  const share = doneBytes / totalBytes;
  const bar = "█".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "░");
  const text = `${label.padEnd(9)} ${bar} ${String(Math.floor(share * 100)).padStart(3)} %`;
  process.stderr.write(isDone ? "\r\x1b[K" : `\r${text}`);
}
