import { createInterface } from "node:readline/promises";

const WIDTH = 30;
const FRAME_INTERVAL_MS = 100;
/** Smaller amounts of work are shown without a bar. */
const MIN_BYTES = 32 * 1024 * 1024;

let drawnAtMs = 0;

/** Draws a progress bar on a terminal, at most ten times a second. */
export function drawProgress(label: string, doneBytes: number, totalBytes: number): void {
  if (!process.stderr.isTTY || totalBytes < MIN_BYTES) return;
  drawShare(label, doneBytes / totalBytes);
}

/** The same for any work, of which a share from 0 to 1 is done. `note` follows the bar. */
export function drawShare(label: string, share: number, note = ""): void {
  const isDone = share >= 1;
  if (!process.stderr.isTTY || (!isDone && performance.now() - drawnAtMs < FRAME_INTERVAL_MS)) return;
  drawnAtMs = performance.now();
  const bar = "█".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "░");
  const text = `${label.padEnd(9)} ${bar} ${String(Math.floor(share * 100)).padStart(3)}% ${note}`.trimEnd();
  process.stderr.write(isDone ? "\r\x1b[K" : `\r${text}\x1b[K`);
}

/** Whether somebody can answer a question. */
export const isInteractive = () => Boolean(process.stdin.isTTY && process.stderr.isTTY);

/** Asks a question at the terminal that only "y" or "yes" confirms. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}
