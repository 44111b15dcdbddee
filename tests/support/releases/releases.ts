import { createHash } from "node:crypto";
import { mkdtemp, readdir, readlink, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { type Catalog, openCatalog } from "@/lib/releases/catalog/catalog";
import { ctx, withContext } from "@/tests/support/context";
import type { EntryFields } from "./entries";

export type TestCatalog = {
  folder: string;
  manifest: string;
  catalog: Catalog;
  /** The errors logged since the catalog was opened. */
  errors: { release?: string; msg: string; err?: { message: string } }[];
  /** Writes bytes into the folder. Returns the artifact that describes them. */
  addFile: (file: string, bytes: Buffer, change?: EntryFields) => Promise<EntryFields>;
  /** Replaces the manifest and reads it. */
  publish: (...releases: EntryFields[]) => Promise<void>;
  /** Replaces the text of the manifest, valid or not, and reads it. */
  publishText: (text: string) => Promise<void>;
};

/** Runs `run` with an empty catalog in a temporary folder. */
export async function withCatalog<T>(run: (testCatalog: TestCatalog) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-catalog-")));
  const manifest = path.join(folder, "catalog.json");
  const errors: TestCatalog["errors"] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(JSON.parse(line)) });
  await writeFile(manifest, manifestText([]));
  const catalog = await openCatalog({ ...ctx().config, RELEASE_CATALOG: manifest }, log);
  const publishText = async (text: string) => {
    await writeFile(`${manifest}.new`, text);
    await rename(`${manifest}.new`, manifest);
    await catalog.refresh();
  };
  const testCatalog: TestCatalog = {
    folder,
    manifest,
    catalog,
    errors,
    publishText,
    publish: (...releases) => publishText(manifestText(releases)),
    addFile: async (file, bytes, change) => {
      await writeFile(path.join(folder, file), bytes);
      return describeFile(file, bytes, change);
    },
  };
  try {
    return await withContext({ catalog, log }, () => run(testCatalog));
  } finally {
    catalog.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The number of file descriptors of this process that refer to a file. */
export async function openDescriptors(file: string): Promise<number> {
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
  );
  return links.filter((link) => link === file).length;
}

export function manifestText(releases: EntryFields[]): string {
  return JSON.stringify({ schemaVersion: 1, releases });
}

/** A file as a manifest has it. */
export function describeFile(file: string, bytes: Buffer, change: EntryFields = {}): EntryFields {
  return {
    file,
    fileName: path.basename(file),
    sizeBytes: bytes.byteLength,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    sha512: createHash("sha512").update(bytes).digest("base64"),
    ...change,
  };
}
