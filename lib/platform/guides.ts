import { readFile } from "node:fs/promises";

const FOLDERS = ["docs/guides", "docs"] as const;
const FILE = /(?:^|\/)docs\/(?:guides\/)?([a-z-]+)\.md(#[^#]*)?$/;

/** Reads a guide of the service's folder by its name, such as "billing", as Markdown. null if there is none. */
export async function readGuide(name: string): Promise<{ file: string; markdown: string } | null> {
  if (!/^[a-z-]+$/.test(name)) return null;
  for (const folder of FOLDERS) {
    const file = `${folder}/${name}.md`;
    const markdown = await readFile(file, "utf8").catch(() => null);
    if (markdown !== null) return { file, markdown };
  }
  return null;
}

/** The cells of the row of a guide's table that a code begins, as Markdown without the code; empty if there is none. */
export async function readGuideRow(name: string, code: string): Promise<string[]> {
  const lines = (await readGuide(name))?.markdown.split("\n") ?? [];
  const row = lines.find((line) => line.startsWith(`| \`${code}\` |`)) ?? "";
  const cells = row.split("|").slice(2, -1);
  return cells.map((cell) => cell.trim());
}

/** The page of the console that shows a guide, such as "docs/guides/billing.md#events"; null for another file. */
export function guidePath(file: string): string | null {
  const [, name, fragment = ""] = FILE.exec(file) ?? [];
  return name === undefined ? null : `/console/settings/guides/${name}${fragment}`;
}

/**
 * Where a link of a guide leads: to a part of it, another guide, or another site; null if it leads to a file of the source.
 */
export function guideLink(file: string, href: string): string | null {
  if (href.startsWith("#") || /^https?:\/\//.test(href)) return href;
  const { pathname, hash } = new URL(href, `http://guides/${file}`);
  return guidePath(pathname + hash);
}
