import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { tsImport } from "tsx/esm/api";

const RENDERER = "../../app/(web)/docs/reference/reference-markdown.ts";
const PUBLIC = "public";
const FOLDER = path.join(PUBLIC, "docs");

/** Writes the pages of the API's reference as Markdown, which are served as they are, and removes those of former pages. */
export async function writeReferencePages() {
  const { markdownPages } = await tsImport(RENDERER, import.meta.url);
  const pages = new Map([...markdownPages()].map(([name, text]) => [path.join(PUBLIC, name), text]));
  for (const file of existing()) if (!pages.has(file)) rmSync(file);
  for (const [file, text] of pages) {
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function existing() {
  if (!existsSync(FOLDER)) return [];
  const entries = readdirSync(FOLDER, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}
