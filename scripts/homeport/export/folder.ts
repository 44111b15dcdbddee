import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { z } from "zod";
import { CommandError } from "../../../lib/errors";
import { decrypt } from "../../../lib/platform/backup/encoding";
import { BackupError } from "../../../lib/platform/backup/format";
import type { Field, FileRecord } from "./fields";
import { field, text } from "./fields";
import { KINDS, type Kind, keyOf, RELEASE_KEYS, RELEASES, VAPID_KEYS } from "./kinds";
import { type Line, MAX_LINE_BYTES, readLines } from "./sorted-lines";

/** The version of the format. It increases with every new file or field; readers refuse a later one. */
export const SCHEMA_VERSION = 1;
export const MANIFEST = "manifest.json";
/** The folder with the files of releases, by their paths in the catalog's folder. */
export const FILES = "files";

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Size = z.int().min(0);

export const Manifest = z.object({
  schemaVersion: z.int().min(1),
  /** The version of the service. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  /** `sha256` and `bytes` are those of the lines, decrypted. */
  files: z.array(z.object({ name: z.string(), isEncrypted: z.boolean(), count: Size, bytes: Size, sha256: Sha256 })),
  releaseFiles: z.array(z.object({ file: z.string().min(1).max(1024), bytes: Size, sha256: Sha256 })),
});
export type Manifest = z.infer<typeof Manifest>;
export type ManifestFile = Manifest["files"][number];

/** The kinds that are not tables. Releases are validated as the catalog's. */
const OTHERS = {
  [VAPID_KEYS]: { key: ["privateKey"], fields: { privateKey: field(text) } },
  [RELEASES]: { key: ["id"], fields: null },
  [RELEASE_KEYS]: { key: ["product"], fields: null },
} as const;

type FileKind = Pick<Kind, "key"> & { fields: Kind["fields"] | null };
const ALL: Readonly<Record<string, FileKind>> = { ...KINDS, ...OTHERS };

export const fileName = (kind: string, isEncrypted: boolean) => `${kind}.ndjson${isEncrypted ? ".age" : ""}`;
const isSecret = (kind: string) => kind === VAPID_KEYS || KINDS[kind]?.isSecret === true;
const kindOf = ({ name }: Pick<ManifestFile, "name">) => name.replace(/\.ndjson(\.age)?$/, "");

/** Reads an export's folder. @throws CommandError file_not_found, export_invalid, export_too_new */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = path.join(folder, MANIFEST);
  const content = await readFile(file, "utf8").catch((error: Error) => {
    throw new CommandError("file_not_found", `${folder} is not a complete export: ${error.message}.`);
  });
  const document = parseJson(content);
  const { data: { schemaVersion } = {} } = Manifest.pick({ schemaVersion: true }).safeParse(document);
  if (schemaVersion !== undefined && schemaVersion > SCHEMA_VERSION) {
    const message = `${file}: the export has the schema version ${schemaVersion}, and this version of Homeport reads up to ${SCHEMA_VERSION}. Upgrade Homeport first.`;
    throw new CommandError("export_too_new", message);
  }
  const manifest = Manifest.safeParse(document);
  if (!manifest.success) throw invalid(MANIFEST, null, z.prettifyError(manifest.error));
  for (const { name, isEncrypted } of manifest.data.files) {
    const kind = kindOf({ name });
    const isKnown = Object.hasOwn(ALL, kind) && isEncrypted === isSecret(kind);
    if (!isKnown || fileName(kind, isEncrypted) !== name)
      throw invalid(MANIFEST, null, `${name} is not a file of an export`);
  }
  for (const kind of Object.keys(ALL)) {
    const named = manifest.data.files.filter((one) => kindOf(one) === kind).length;
    if (named > 1 || (named === 0 && !isSecret(kind))) throw invalid(MANIFEST, null, `${kind}: there must be one file`);
  }
  return manifest.data;
}

export const findFile = ({ files }: Manifest, kind: string) => files.find((one) => kindOf(one) === kind);

/** A record of a file, and the number of its line. */
export type Entry = { record: FileRecord; line: number };
/** How an export's files are read: `onBytes` is called with the lengths of what was read. */
export type Source = { folder: string; identities: readonly string[]; onBytes?: (bytes: number) => void };

/**
 * Reads the records of a file, and checks each, their order, their number and the file's SHA-256.
 * @throws CommandError export_invalid, export_damaged, file_not_found; BackupError identity_required, wrong_key
 */
export async function* readRecords(source: Source, file: ManifestFile): AsyncGenerator<Entry> {
  const kind = ALL[kindOf(file)] as FileKind;
  const hash = createHash("sha256");
  let last: string | null = null;
  let count = 0;
  for await (const line of readLines(
    hashed(file.name, await bytesOf(source, file), hash, source.onBytes),
    MAX_LINE_BYTES,
  )) {
    const record = parseRecord(file.name, line, kind.fields);
    const key = keyOf(kind, record);
    if (last !== null && key <= last) {
      throw invalid(file.name, line.number, `${kind.key.join(", ")}: must be after that of the line before`);
    }
    last = key;
    count += 1;
    yield { record, line: line.number };
  }
  if (count === file.count && hash.digest("hex") === file.sha256) return;
  const message = `${file.name}: is not what was exported: ${count} lines, and the manifest says ${file.count}${count === file.count ? ", with another SHA-256" : ""}.`;
  throw new CommandError("export_damaged", message);
}

async function bytesOf({ folder, identities }: Source, { name, isEncrypted }: ManifestFile): Promise<Readable> {
  const stored = createReadStream(path.join(folder, name));
  if (!isEncrypted) return stored;
  return decrypt(stored, identities).catch((error: Error) => Promise.reject(readFailure(name, error)));
}

async function* hashed(name: string, chunks: Readable, hash: Hash, onBytes: Source["onBytes"]) {
  try {
    for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      onBytes?.(chunk.byteLength);
      yield chunk;
    }
  } catch (error) {
    throw readFailure(name, error as NodeJS.ErrnoException);
  }
}

function readFailure(name: string, error: NodeJS.ErrnoException): Error {
  if (error instanceof BackupError || error instanceof CommandError) return error;
  if (error.code === "ENOENT") return new CommandError("file_not_found", `${name}: is missing.`);
  return new CommandError("export_damaged", `${name}: cannot be read: ${error.message}.`);
}

function parseRecord(name: string, { text, number }: Line, fields: Kind["fields"] | null): FileRecord {
  if (text === null) throw invalid(name, number, "the line is not ended, not UTF-8, or too long");
  const record = parseJson(text);
  if (typeof record !== "object" || record === null || Array.isArray(record)) {
    throw invalid(name, number, "must be a JSON object");
  }
  if (fields) checkFields(name, number, record as FileRecord, fields);
  return record as FileRecord;
}

function checkFields(name: string, number: number, record: FileRecord, fields: Kind["fields"]): void {
  for (const field of Object.keys(record)) {
    if (!Object.hasOwn(fields, field)) throw invalid(name, number, `${field}: is not a field of this file`);
  }
  for (const [field, { type, isNullable }] of Object.entries(fields)) {
    const value = record[field];
    if (value === null ? isNullable : value !== undefined && type.write(value) !== undefined) continue;
    throw invalid(name, number, `${field}: must be ${type.name}${isNullable ? " or null" : ""}`);
  }
}

/** The value of a field as the database's text. The record was checked. */
export const toStored = (record: FileRecord, name: string, { type }: Field): string | null =>
  record[name] === null ? null : (type.write(record[name]) as string);

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

/** The error for a line of an export's file, or for the whole file. */
export const invalid = (name: string, line: number | null, message: string): CommandError =>
  new CommandError("export_invalid", `${name}${line === null ? "" : `:${line}`}: ${message}.`);
