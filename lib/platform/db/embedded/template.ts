import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { migrationNames, readMigration } from "../migrations";

// npm runs the project's scripts in its root folder.
const BUNDLES = path.resolve(".next/bin");
const PGLITE = path.resolve("node_modules/@electric-sql/pglite/package.json");

/** The path and size of a file. The size of a folder is null. */
type Entry = [name: string, sizeBytes: number | null];

/**
 * The build's file with an embedded database that has all migrations and no rows. Its name has a hash of what it is made
 * from, so that a build does not serve other migrations or another PGlite.
 */
export async function templateFile(): Promise<string> {
  const hash = createHash("sha256").update(await readFile(PGLITE));
  for (const name of await migrationNames()) hash.update(`${name}\0${await readMigration(name)}\0`);
  return path.join(BUNDLES, `database-${hash.digest("hex").slice(0, 16)}.gz`);
}

/** Packs the folder of a database that is closed: a line of JSON with its files and folders, then their contents. */
export async function packDatabase(folder: string): Promise<Buffer> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const entries: Entry[] = [];
  const contents: Buffer[] = [];
  const files = found.map((entry) => ({ file: path.join(entry.parentPath, entry.name), isFile: entry.isFile() }));
  for (const { file, isFile } of files.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const content = isFile ? await readFile(file) : null;
    entries.push([path.relative(folder, file), content?.length ?? null]);
    if (content) contents.push(content);
  }
  return promisify(gzip)(Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...contents]));
}

/** Writes the database of a template into an empty folder, unsynced. */
export async function unpackDatabase(packed: Buffer, folder: string): Promise<void> {
  const bytes = await promisify(gunzip)(packed);
  let at = bytes.indexOf("\n") + 1;
  const entries: Entry[] = JSON.parse(bytes.toString("utf8", 0, at));
  // Synchronous: with promises, a thousand small files take twice the CPU time.
  for (const [name, sizeBytes] of entries) {
    const file = path.join(folder, name);
    if (sizeBytes === null) mkdirSync(file);
    else writeFileSync(file, bytes.subarray(at, at + sizeBytes));
    at += sizeBytes ?? 0;
  }
}
