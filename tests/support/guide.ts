import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";

/** The host that the guides speak of. */
const GUIDE_HOST = "https://updates.example.com";

/** The n-th fenced block of a language below a heading of docs/guides/updates.md, with `url` for the guide's host. */
export async function snippet(heading: string, language: string, url: string, n = 0): Promise<string> {
  const guide = await readFile("docs/guides/updates.md", "utf8");
  const section = guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, of]) => of === language);
  const [, , text] = blocks[n] ?? [];
  if (text === undefined) throw new Error(`The guide has no ${language} block ${n} below ${heading}`);
  return text.replaceAll(GUIDE_HOST, url);
}

/** A folder for one test, removed after it. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-guide-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Runs the guide's modules as an app would: `files` are written to a folder, where `packages` are installed, a
 * package being a source of its own or, null, the project's. Resolves to what the first file exports.
 */
export async function runModules(files: Record<string, string>, packages: Record<string, string | null>) {
  const folder = await newFolder();
  for (const [name, source] of Object.entries(packages)) {
    const place = path.join(folder, "node_modules", name);
    await mkdir(path.dirname(place), { recursive: true });
    if (source === null) {
      await symlink(path.resolve("node_modules", name), place);
      continue;
    }
    await mkdir(place);
    await writeFile(path.join(place, "package.json"), JSON.stringify({ name, type: "module", exports: "./index.js" }));
    await writeFile(path.join(place, "index.js"), source);
  }
  for (const [name, source] of Object.entries(files)) await writeFile(path.join(folder, name), source);
  return import(pathToFileURL(path.join(folder, Object.keys(files)[0] ?? "")).href);
}

/** The runnable examples of a guide, by file name: its fenced blocks that say `file=NAME`. */
export function examplesOf(guide: string): Map<string, string> {
  const text = readFileSync(`docs/guides/${guide}.md`, "utf8");
  const blocks = text.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}
