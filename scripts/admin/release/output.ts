import { createInterface } from "node:readline/promises";

/** Writes a command's result: with --json as one JSON document, else as lines of text. */
export type Output = { result: (document: unknown, lines: readonly string[]) => void; isJson: boolean };

export function createOutput(isJson: boolean): Output {
  const result: Output["result"] = (document, lines) => {
    if (isJson) console.log(JSON.stringify(document, null, 2));
    else for (const line of lines) console.log(line);
  };
  return { result, isJson };
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

/** Formats a size: 12.3 MB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const exponent = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${Number((bytes / 1000 ** exponent).toFixed(1))} ${units[exponent]}`;
}
