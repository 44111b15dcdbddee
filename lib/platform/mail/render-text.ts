import type { Block } from "./texts/text-types";

/** RFC 5322, section 2.1.1, recommends 78 characters. */
const MAX_LINE_LENGTH = 76;

/** A message's plain text. Links stand on lines of their own. */
export function renderText({ blocks, footers }: { blocks: readonly Block[]; footers: readonly string[] }): string {
  return `${[...blocks.map(toText), footers.join("\n")].join("\n\n")}\n`;
}

function toText(block: Block): string {
  if (typeof block === "string") return wrap(block);
  if ("link" in block) return block.link;
  if ("list" in block) return block.list.map((entry) => `- ${entry}`).join("\n");
  return block.facts.map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** Breaks a paragraph between words. */
function wrap(paragraph: string): string {
  const lines = [""];
  for (const word of paragraph.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + 1 + word.length > MAX_LINE_LENGTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}
