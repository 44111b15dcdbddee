import { createHash } from "node:crypto";
import { lstat, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { CommandError } from "../../../lib/errors";
import { decode, encrypt } from "../../../lib/platform/backup/encoding";
import { type Header, readBackup } from "../../../lib/platform/backup/format";
import type { Table } from "../../../lib/platform/db/copy";
import { migrationNames } from "../../../lib/platform/db/migrations";
import { ifMissing, makeFolder, moveDurably, syncTree, writeChunks } from "../../../lib/platform/files/durable";
import { FileLockedError, lockFile } from "../../../lib/platform/files/lock";
import { type DataKey, type DataKeyRow, unwrapDataKeys } from "../../../lib/platform/keys/data-keys";
import type { Secrets } from "../../../lib/platform/keys/key-ring";
import { decryptSecretWith } from "../../../lib/platform/keys/stored-secrets";
import { parseRow, type Row } from "./fields";
import { FILES, fileName, MANIFEST, type Manifest, type ManifestFile, SCHEMA_VERSION } from "./folder";
import { KINDS, type Kind, keyOf, RELEASE_KEYS, RELEASES, VAPID_KEYS } from "./kinds";
import { copyReleaseFiles, type ExportedCatalog } from "./releases";
import { SortedLines, toChunks } from "./sorted-lines";

const DATA_KEYS = "DataKey";

export type ExportOptions = {
  folder: string;
  /** Age recipients of the secrets. null: without secrets. */
  recipients: readonly string[] | null;
  /** `NEXTAUTH_SECRET`, which decrypts the stored secrets. */
  secrets: Secrets;
  /** The private key of web push, where it is configured. */
  vapidPrivateKey: string | undefined;
  hasReleaseFiles: boolean;
  /** Writes the rows to a file, which is removed. */
  copyRows: () => Promise<string>;
  readCatalog: () => Promise<ExportedCatalog>;
};

/**
 * Writes an export. Until it is complete, nothing has its name. @throws CommandError folder_not_empty,
 * folder_invalid, export_in_progress, disk_full
 */
export async function writeExport(options: ExportOptions): Promise<Manifest> {
  const { folder } = options;
  await makeFolder(path.dirname(folder));
  await requireReplaceable(folder);
  const unlock = await lockFile(`${folder}.lock`).catch((error: Error) => {
    if (!(error instanceof FileLockedError)) throw error;
    throw new CommandError("export_in_progress", `Another export is being written to ${folder}.`);
  });
  const partial = `${folder}.partial`;
  try {
    await rm(partial, { recursive: true, force: true }); // of an export that was killed
    await mkdir(partial, { mode: 0o700 }); // not recursive: of a full disk, Node.js then says ENOENT
    const manifest = await write(options, partial);
    await syncTree(partial);
    await moveDurably(partial, folder);
    return manifest;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EDQUOT") throw error;
    throw new CommandError("disk_full", `There is no space for the export in ${path.dirname(folder)}.`);
  } finally {
    await unlock();
  }
}

/** @throws CommandError folder_not_empty, folder_invalid for what the complete folder cannot replace */
async function requireReplaceable(folder: string): Promise<void> {
  const existing = await lstat(folder).catch(ifMissing(null));
  if (existing === null) return;
  const { dev } = await stat(path.dirname(folder));
  if (!existing.isDirectory() || existing.dev !== dev) {
    throw new CommandError("folder_invalid", `${folder} is a file, a link or a mount point: name another folder.`);
  }
  if ((await readdir(folder)).length > 0) throw new CommandError("folder_not_empty", `${folder} is not empty.`);
}

async function write(options: ExportOptions, folder: string): Promise<Manifest> {
  const file = await options.copyRows();
  const rows = await open(file);
  await rm(file); // it is read to its end, and a kill leaves nothing
  const writer = new ExportWriter(options, folder);
  let header: Header | undefined;
  await readBackup(decode(rows.createReadStream(), []), {
    onHeader: async (given) => {
      header = given;
      await requireSameSchema(given);
    },
    onTable: (table, chunks) => writer.addTable(table, chunks),
  });
  await writer.addVapidKey();
  const catalog = await options.readCatalog();
  await writer.addLines(
    RELEASES,
    catalog.releases.map((release) => [String(release.id), JSON.stringify(release)]),
  );
  await writer.addLines(
    RELEASE_KEYS,
    catalog.keys.map((keys) => [keys.product, JSON.stringify(keys)]),
  );
  const releaseFiles = options.hasReleaseFiles ? await copyReleaseFiles(catalog, path.join(folder, FILES)) : [];
  const { version = "", createdAt = "" } = header ?? {};
  const manifest = { schemaVersion: SCHEMA_VERSION, version, createdAt, files: writer.files(), releaseFiles };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  await writeChunks(path.join(folder, MANIFEST), Readable.from([Buffer.from(text)]), 0o600);
  return manifest;
}

/** @throws CommandError if a service of another version has written the rows */
async function requireSameSchema({ migrations, version }: Header): Promise<void> {
  if (migrations.join() === (await migrationNames()).join()) return;
  throw new CommandError("version_mismatch", `The service has the version ${version}: use its own \`homeport\`.`);
}

class ExportWriter {
  #keys: DataKey[] | undefined;
  readonly #files = new Map<string, ManifestFile>();

  constructor(
    readonly options: Pick<ExportOptions, "recipients" | "secrets" | "vapidPrivateKey">,
    readonly folder: string,
  ) {}

  /** Writes the files of a table's rows. */
  async addTable({ name, columns }: Table, chunks: AsyncIterable<Buffer>): Promise<void> {
    const kinds = Object.entries(KINDS).filter(([, kind]) => kind.model === name && this.#isWritten(kind));
    const outputs = kinds.map(([file, kind]) => ({ file, kind, lines: new SortedLines(path.join(this.folder, file)) }));
    const dataKeys: Row[] = [];
    for await (const chunk of chunks) {
      if (outputs.length === 0 && name !== DATA_KEYS) continue;
      for (const line of chunk.toString("utf8", 0, chunk.length - 1).split("\n")) {
        const values = parseRow(line);
        const row: Row = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
        if (name === DATA_KEYS) dataKeys.push(row);
        for (const { kind, lines } of outputs) this.#addRow(kind, row, lines);
      }
      for (const { lines } of outputs) if (lines.isFull) await lines.spill();
    }
    if (name === DATA_KEYS) this.#readKeys(dataKeys);
    for (const { file, kind, lines } of outputs) await this.#write(file, kind.isSecret === true, lines.read());
  }

  async addVapidKey(): Promise<void> {
    if (!this.options.recipients) return;
    const stored = this.#keys?.find(({ purpose }) => purpose === "vapid")?.key.toString("base64url");
    const privateKey = this.options.vapidPrivateKey ?? stored;
    const lines = privateKey === undefined ? [] : [JSON.stringify({ privateKey })];
    await this.#write(VAPID_KEYS, true, lines);
  }

  /** Writes a file of few lines, each with its key. */
  async addLines(file: string, keyed: readonly (readonly [string, string])[]): Promise<void> {
    const sorted = [...keyed].sort(([a], [b]) => (a < b ? -1 : 1));
    await this.#write(
      file,
      false,
      sorted.map(([, line]) => line),
    );
  }

  /** In the order in which an import reads them. */
  files(): ManifestFile[] {
    const kinds = [...Object.keys(KINDS), VAPID_KEYS, RELEASES, RELEASE_KEYS];
    return kinds.flatMap((kind) => this.#files.get(kind) ?? []);
  }

  #isWritten({ isSecret = false }: Kind): boolean {
    return !isSecret || this.options.recipients !== null;
  }

  #addRow(kind: Kind, row: Row, lines: SortedLines): void {
    if (kind.includes && !kind.includes(row)) return;
    const record: Record<string, unknown> = {};
    for (const [name, { type, column = name }] of Object.entries(kind.fields)) {
      const stored = row[column] ?? null;
      record[name] = stored === null ? null : type.read(stored);
    }
    for (const [name, { purposeOf }] of Object.entries(kind.fields)) {
      if (purposeOf && record[name] !== null) record[name] = this.#decrypt(purposeOf(record), record[name] as string);
    }
    lines.add(keyOf(kind, record), JSON.stringify(record));
  }

  #decrypt(purpose: string, stored: string): string {
    if (!this.#keys) throw new Error("The data keys are after the secrets"); // the order of tables is by reference, then by name
    return decryptSecretWith(this.#keys, purpose, stored);
  }

  #readKeys(rows: Row[]): void {
    const order = ({ createdAt, id }: Row) => `${createdAt} ${id}`;
    const sorted = rows.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    this.#keys = unwrapDataKeys(this.options.secrets, sorted as DataKeyRow[]).keys;
  }

  async #write(kind: string, isEncrypted: boolean, lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const name = fileName(kind, isEncrypted);
    const file: ManifestFile = { name, isEncrypted, count: 0, bytes: 0, sha256: "" };
    const hash = createHash("sha256");
    const plain = async function* () {
      for await (const chunk of toChunks(counted(lines, file))) {
        hash.update(chunk);
        file.bytes += chunk.length;
        yield chunk;
      }
    };
    const chunks = isEncrypted ? encrypt(Readable.from(plain()), this.options.recipients ?? []) : plain();
    await writeChunks(path.join(this.folder, name), chunks, 0o600);
    this.#files.set(kind, { ...file, sha256: hash.digest("hex") });
  }
}

async function* counted(lines: Iterable<string> | AsyncIterable<string>, file: ManifestFile): AsyncGenerator<string> {
  for await (const line of lines) {
    file.count += 1;
    yield line;
  }
}
