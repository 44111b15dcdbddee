import { CommandError } from "../../../lib/errors";
import type { Config } from "../../../lib/platform/config";
import { isStorageFull } from "../../../lib/platform/database-errors";
import { type CopySession, quoted, tablesWithRows } from "../../../lib/platform/db/copy";
import type { Database } from "../../../lib/platform/db/open";
import { openServerCopySession } from "../../../lib/platform/db/server/copy-session";
import { loadDataKeys, wrapKey } from "../../../lib/platform/keys/data-keys";
import { type Secrets, secretId } from "../../../lib/platform/keys/key-ring";
import { encryptSecret } from "../../../lib/platform/keys/stored-secrets";
import { newWebhookSecret } from "../../../lib/webhooks/signature";
import { type FileRecord, formatRow } from "./fields";
import {
  type Entry,
  findFile,
  invalid,
  type Manifest,
  readManifest,
  readRecords,
  type Source,
  toStored,
} from "./folder";
import { KINDS, type Kind, RELEASE_KEYS, RELEASES, VAPID_KEYS } from "./kinds";
import {
  checkKeys,
  checkRelease,
  checkReleaseFiles,
  type ImportedCatalog,
  requireOwnCatalog,
  writeCatalog,
} from "./releases";

type Target = { config: Config & { secrets: Secrets }; database: Database };
type OnProgress = (share: number) => void;
/** An export whose files were checked. */
type Checked = { source: Source; manifest: Manifest; catalog: ImportedCatalog };

/** SQLSTATE classes 22, data exception; 23, integrity constraint violation; 54, program limit exceeded. */
const INVALID_VALUE = /^(22|23|54)/;
const ROWS_PER_CHUNK = 500;
/** A service that has not been used may have created one. */
const SIGNING_KEY = "SigningKey";

/**
 * Checks every file of an export, without a database.
 * @throws CommandError export_invalid, export_damaged, export_too_new, file_not_found, identity_required; BackupError wrong_key
 */
export async function checkExport(source: Source, withoutSecrets: boolean, onProgress: OnProgress): Promise<Checked> {
  const full = await readManifest(source.folder);
  if (!withoutSecrets && source.identities.length === 0 && full.files.some(({ isEncrypted }) => isEncrypted)) {
    const message = "The export has secrets: give the file with their age key by --identity, or set --without-secrets.";
    throw new CommandError("identity_required", message);
  }
  const manifest = withoutSecrets ? { ...full, files: full.files.filter(({ isEncrypted }) => !isEncrypted) } : full;
  const catalog = { releases: [] as FileRecord[], keys: [] as ImportedCatalog["keys"][number][] };
  const counted = withProgress(source, manifest, onProgress);
  for (const file of manifest.files) {
    for await (const { record, line } of readRecords(counted, file)) {
      if (file === findFile(manifest, RELEASES)) catalog.releases.push(checkRelease(file.name, line, record));
      if (file === findFile(manifest, RELEASE_KEYS)) catalog.keys.push(checkKeys(file.name, line, record));
    }
  }
  await checkReleaseFiles(source.folder, manifest.releaseFiles, catalog.releases);
  return { source, manifest, catalog };
}

function withProgress(source: Source, { files }: Manifest, onProgress: OnProgress): Source {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 1);
  let done = 0;
  const onBytes = (bytes: number) => {
    done += bytes;
    onProgress(Math.min(done / total, 0.999));
  };
  return { ...source, onBytes };
}

/**
 * Writes a checked export into a service without data, in one transaction. Returns whether the catalog was written: one at a
 * URL is not.
 * @throws CommandError target_not_empty, export_invalid, export_damaged, disk_full
 */
export async function importExport(target: Target, checked: Checked, onProgress: OnProgress): Promise<boolean> {
  const { config, database } = target;
  const { source, manifest, catalog } = checked;
  await requireOwnCatalog(config, catalog);
  await loadDataKeys({ config, db: database.client }); // before the transaction, which would make them wait
  const { session, close } = await openSession(target);
  try {
    await session.query("BEGIN");
    await requireEmpty(session);
    const counted = withProgress(source, manifest, onProgress);
    const loader = new Loader(target, session, { ...checked, source: counted });
    for (const [name, kind] of Object.entries(KINDS)) if (!kind.extends) await loader.load(name, kind);
    await loader.loadVapidKey();
    const isWritten = await writeCatalog(config, source.folder, catalog, manifest.releaseFiles);
    await session.query("COMMIT");
    await session.query("ANALYZE").catch(() => {}); // the rows are there without statistics
    return isWritten;
  } catch (error) {
    await session.query("ROLLBACK").catch(() => {}); // the connection may be lost
    throw isStorageFull(error)
      ? new CommandError("disk_full", "The database's disk is full. Nothing was imported.")
      : error;
  } finally {
    await close();
  }
}

async function openSession({
  config,
  database,
}: Target): Promise<{ session: CopySession; close: () => Promise<void> }> {
  if (database.embedded) return { session: database.embedded.copySession, close: async () => {} };
  const session = await openServerCopySession(config.DATABASE_MIGRATE_URL ?? (config.DATABASE_URL as string));
  return { session, close: session.close };
}

/** Makes other writes and imports wait. @throws CommandError target_not_empty */
async function requireEmpty(session: CopySession): Promise<void> {
  const names = [...new Set(Object.values(KINDS).map(({ model }) => model))];
  await session.query(`LOCK TABLE ${names.map(quoted).join(", ")} IN SHARE ROW EXCLUSIVE MODE`);
  const tables = names.filter((name) => name !== SIGNING_KEY).map((name) => ({ name, columns: [] }));
  const full = await tablesWithRows(session, tables);
  if (full.length === 0) return;
  throw new CommandError("target_not_empty", `The database has rows in ${full.join(", ")}: import into a new service.`);
}

class Loader {
  constructor(
    readonly target: Target,
    readonly session: CopySession,
    readonly checked: Pick<Checked, "source" | "manifest">,
  ) {}

  async load(name: string, kind: Kind): Promise<void> {
    const file = findFile(this.checked.manifest, name);
    if (!file) return;
    if (kind.model === SIGNING_KEY) await this.session.query(`DELETE FROM ${quoted(SIGNING_KEY)}`);
    const further = Object.entries(KINDS).find(([, other]) => other.extends === name);
    const fields = { ...kind.fields, ...further?.[1].fields };
    const constants = Object.entries(kind.constants ?? {});
    const columns = Object.entries(fields).map(([field, { column = field }]) => column);
    const table = { name: kind.model, columns: [...columns, ...constants.map(([column]) => column)] };
    const rows = this.#rows(
      this.#joined(name, kind, further),
      fields,
      constants.map(([, value]) => value),
    );
    try {
      await this.session.write(table, rows);
    } catch (error) {
      throw (await this.#locate(error, name, kind)) ?? error;
    }
  }

  /** Replaces the private key of web push. */
  async loadVapidKey(): Promise<void> {
    const file = findFile(this.checked.manifest, VAPID_KEYS);
    if (!file) return;
    const { secrets } = this.target.config;
    for await (const { record } of readRecords(this.checked.source, file)) {
      const id = `vapid:${secretId(secrets[0])}`;
      const { wrappedBy, wrapped } = wrapKey(secrets, id, Buffer.from(String(record.privateKey), "base64url"));
      await this.session.query(`DELETE FROM "DataKey" WHERE purpose = 'vapid'`);
      await this.session.query(
        `INSERT INTO "DataKey" (id, purpose, "wrappedBy", wrapped) VALUES ($1, 'vapid', $2, $3)`,
        [id, wrappedBy, wrapped],
      );
    }
  }

  /** The records of a file, with the fields of the file of their secrets: both are in the order of their ids. */
  async *#joined(name: string, kind: Kind, further: [string, Kind] | undefined): AsyncGenerator<FileRecord> {
    const secrets = further && this.#records(further[0]);
    let next = await secrets?.next();
    for await (const { record } of this.#records(name)) {
      if (!further) yield record;
      else if (next && !next.done && next.value.record.id === record.id) {
        yield { ...record, ...next.value.record };
        next = await secrets?.next();
      } else yield { ...record, ...(await this.#withoutSecret(further[1], kind, record)) };
    }
    if (next && !next.done && further) {
      const { line } = next.value;
      throw invalid(findFile(this.checked.manifest, further[0])?.name ?? further[0], line, `id: is not in ${name}`);
    }
  }

  async *#records(name: string): AsyncGenerator<Entry> {
    const file = findFile(this.checked.manifest, name);
    if (file) yield* readRecords(this.checked.source, file);
  }

  /** What a row has in place of secrets that were not exported: null, or for a webhook endpoint a new one. */
  async #withoutSecret({ fields }: Kind, { model }: Kind, { id }: FileRecord): Promise<FileRecord> {
    const none = Object.fromEntries(Object.keys(fields).map((field) => [field, null]));
    return { ...none, id, ...(model === "WebhookEndpoint" && { secret: newWebhookSecret() }) };
  }

  async *#rows(
    records: AsyncIterable<FileRecord>,
    fields: Kind["fields"],
    constants: string[],
  ): AsyncGenerator<Buffer> {
    const deps = { config: this.target.config, db: this.target.database.client };
    const all = Object.entries(fields);
    let rows: string[] = [];
    for await (const record of records) {
      const values: (string | null)[] = all.map(([name, field]) => toStored(record, name, field));
      for (const [index, [, { purposeOf }]] of all.entries()) {
        const value = values[index];
        if (purposeOf && value) values[index] = await encryptSecret(deps, purposeOf(record), value);
      }
      rows.push(formatRow([...values, ...constants]));
      if (rows.length < ROWS_PER_CHUNK) continue;
      yield Buffer.from(rows.join(""));
      rows = [];
    }
    yield Buffer.from(rows.join(""));
  }

  /** Finds the line of a row that the database refused. Returns null for other errors. */
  async #locate(error: unknown, name: string, kind: Kind): Promise<CommandError | null> {
    const { code = "", message: reason } = error as { code?: string; message: string };
    const refused = /^Key \((.+?)\)=\((.*)\) (already exists|is not present in table "(\w+)")/s.exec(
      (error as { detail?: string }).detail ?? "",
    );
    const file = findFile(this.checked.manifest, name);
    if (!file || !INVALID_VALUE.test(code)) return null;
    if (!refused) return invalid(file.name, null, `the database refuses a value: ${reason}`);
    const [, columns = "", given = "", problem, table] = refused;
    const names = columns.split(", ").map((column) => column.replaceAll('"', ""));
    const fields = Object.entries(kind.fields).filter(([field, { column = field }]) => names.includes(column));
    let line: number | null = null;
    for await (const entry of readRecords({ ...this.checked.source, onBytes: () => {} }, file)) {
      const values = fields.map(([field, type]) => toStored(entry.record, field, type));
      const ordered = names.map(
        (column) => values[fields.findIndex(([field, { column: own = field }]) => own === column)],
      );
      if (ordered.join(", ") !== given) continue;
      line = entry.line;
      if (table) break;
    }
    const of = Object.entries(KINDS).find(([, { model }]) => model === table)?.[0];
    const message = problem === "already exists" ? "is also in a line before" : `is not in ${of}`;
    return invalid(file.name, line, `${fields.map(([field]) => field).join(", ")}: ${message}`);
  }
}
