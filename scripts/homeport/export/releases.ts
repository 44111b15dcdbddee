import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CommandError } from "../../../lib/errors";
import type { Config } from "../../../lib/platform/config";
import { ifMissing, makeFolder, writeChunks } from "../../../lib/platform/files/durable";
import { resolveArtifactPath } from "../../../lib/releases/artifact-files";
import { catalogFileOf } from "../../../lib/releases/catalog/catalog";
import { validateManifest } from "../../../lib/releases/catalog/manifest";
import { urlSource } from "../../../lib/releases/catalog/url-source";
import {
  changeManifest,
  type EditableManifest,
  type ManifestEntry,
  parseRelease,
  readManifest,
} from "../../../lib/releases/publishing/manifest-file";
import { storedFiles } from "../../../lib/releases/release-files";
import type { Release } from "../../../lib/releases/schema";
import { PublicKeys } from "../../../lib/releases/signatures";
import type { FileRecord } from "./fields";
import { FILES, invalid, type Manifest } from "./folder";

type ReleaseFile = Manifest["releaseFiles"][number];

/** The catalog without samples. `folder` is that of its files; null: it is at a URL. */
export type ExportedCatalog = {
  folder: string | null;
  releases: readonly ManifestEntry[];
  keys: readonly (PublicKeys & { product: string })[];
  files: readonly ReleaseFile[];
};

/** Reads the catalog of a configuration. @throws AppError catalog_invalid; CommandError catalog_unavailable */
export async function readCatalog(config: Config): Promise<ExportedCatalog> {
  const file = catalogFileOf(config);
  const manifest = file === null ? await readAtUrl(config) : await readManifest(file);
  const own = manifest.entries.filter((_, index) => manifest.releases[index]?.sample !== true);
  return {
    folder: file && path.dirname(file),
    releases: own,
    keys: own.length === 0 ? [] : Object.entries(manifest.publicKeys).map(([product, keys]) => ({ product, ...keys })),
    files: filesOf(manifest.releases.filter(({ sample }) => !sample)),
  };
}

/** The files in the catalog's folder. */
function filesOf(releases: readonly Release[]): ReleaseFile[] {
  const files = releases
    .flatMap(storedFiles)
    .flatMap(({ file, sizeBytes, sha256 }) => (file ? [{ file, bytes: sizeBytes, sha256 }] : []));
  const byName = new Map(files.map((one) => [one.file, one]));
  return [...byName.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
}

async function readAtUrl({ RELEASE_CATALOG = "", DATA_DIR }: Config): Promise<EditableManifest> {
  const source = urlSource(RELEASE_CATALOG, path.resolve(DATA_DIR, "releases"));
  try {
    const bytes = (await source.read())?.bytes ?? new Uint8Array();
    const { publicKeys, releases } = await validateManifest(bytes);
    return { publicKeys, releases, entries: JSON.parse(new TextDecoder().decode(bytes)).releases };
  } catch (error) {
    throw new CommandError("catalog_unavailable", (error as Error).message);
  } finally {
    source.close?.();
  }
}

/** Copies the files in the catalog's folder. @throws CommandError file_not_found, file_changed */
export async function copyReleaseFiles({ folder, files }: ExportedCatalog, to: string): Promise<ReleaseFile[]> {
  if (folder === null) return [];
  for (const one of files) {
    const source = await resolveArtifactPath(folder, one.file).catch((error: Error) => {
      throw new CommandError("file_not_found", `The file ${one.file} of a release cannot be read: ${error.message}.`);
    });
    await makeFolder(path.dirname(path.join(to, one.file)), 0o700);
    await copyVerified(source, path.join(to, one.file), one, 0o600);
  }
  return [...files];
}

async function copyVerified(from: string, to: string, { file, sha256 }: ReleaseFile, mode?: number): Promise<void> {
  const hash = createHash("sha256");
  const chunks = async function* () {
    for await (const chunk of createReadStream(from)) {
      hash.update(chunk);
      yield chunk as Buffer;
    }
    if (hash.digest("hex") === sha256) return;
    throw new CommandError("file_changed", `${file}: has another SHA-256 than its release says.`);
  };
  await writeChunks(to, chunks(), mode);
}

/** The releases of an export, checked. */
export type ImportedCatalog = Pick<ExportedCatalog, "releases" | "keys">;

/** @throws CommandError export_invalid for what the catalog would reject */
export function checkRelease(name: string, line: number, record: FileRecord): ManifestEntry {
  try {
    parseRelease(record as ManifestEntry);
    return record as ManifestEntry;
  } catch (error) {
    throw invalid(name, line, (error as Error).message.replace(/\s*\n\s*-?\s*/g, " "));
  }
}

/** @throws CommandError export_invalid */
export function checkKeys(name: string, line: number, { product, ...keys }: FileRecord) {
  const parsed = PublicKeys.safeParse(keys);
  if (typeof product !== "string" || !parsed.success)
    throw invalid(name, line, "must be a product and its public keys");
  return { product, ...parsed.data };
}

/** Checks the files of releases in an export's folder. @throws CommandError export_damaged, export_invalid */
export async function checkReleaseFiles(
  folder: string,
  files: readonly ReleaseFile[],
  releases: readonly ManifestEntry[],
): Promise<void> {
  const named = new Map(filesOf(releases.map(parseRelease)).map((one) => [one.file, one.sha256]));
  for (const { file, sha256 } of files) {
    if (named.get(file) !== sha256) throw invalid("manifest.json", null, `${file} is a file of no release`);
    if (path.isAbsolute(file) || file.includes("\0") || file.split(/[/\\]/).includes("..")) {
      throw invalid("manifest.json", null, `${file} leads outside of the folder`);
    }
    if ((await hashOf(path.join(folder, FILES, file))) === sha256) continue;
    throw new CommandError("export_damaged", `${FILES}/${file}: is missing, or not what was exported.`);
  }
}

async function hashOf(file: string): Promise<string | null> {
  if (!(await stat(file).catch(() => null))?.isFile()) return null;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}

/**
 * Refuses a catalog with other releases than those of an export. Samples may be there, and what an interrupted import has written.
 * @throws CommandError target_not_empty
 */
export async function requireOwnCatalog(config: Config, { releases }: ImportedCatalog): Promise<void> {
  if (catalogFileOf(config) === null) return; // it is not written
  const existing = (await readCatalog(config)).releases;
  const isSame = isDeepStrictEqual(byId(existing), byId(releases));
  if (existing.length === 0 || isSame) return;
  throw new CommandError("target_not_empty", "The service has releases: import into a new service.");
}

const byId = (releases: readonly ManifestEntry[]) => new Map(releases.map((release) => [release.id, release]));

/** Writes the catalog, and the files of releases that are in the export. Returns false if the catalog is at a URL. */
export async function writeCatalog(
  config: Config,
  folder: string,
  { releases, keys }: ImportedCatalog,
  files: readonly ReleaseFile[],
): Promise<boolean> {
  if (releases.length === 0) return true;
  const catalog = catalogFileOf(config);
  if (catalog === null) return false;
  for (const one of files) {
    const target = path.join(path.dirname(catalog), one.file);
    if ((await hashOf(target)) === one.sha256) continue;
    if (await stat(target).catch(ifMissing(null))) {
      throw new CommandError("target_not_empty", `${target} is there, and is another file.`);
    }
    await makeFolder(path.dirname(target));
    await copyVerified(path.join(folder, FILES, one.file), target, one);
  }
  const publicKeys = Object.fromEntries(keys.map(({ product, ...own }) => [product, own]));
  await changeManifest(catalog, () => ({ entries: releases, publicKeys, result: null }));
  return true;
}
