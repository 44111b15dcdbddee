import { readFileSync } from "node:fs";

/** The runnable examples of a guide, by file name: its fenced blocks that say `file=NAME`. */
export function examplesOf(guide: string): Map<string, string> {
  const text = readFileSync(`docs/guides/${guide}.md`, "utf8");
  const blocks = text.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}
