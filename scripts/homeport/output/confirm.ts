import { createInterface } from "node:readline/promises";

/** Whether somebody can answer a question. */
export const isInteractive = () => Boolean(process.stdin.isTTY && process.stderr.isTTY);

/** Asks a question at the terminal that only "y" or "yes" confirms. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}
