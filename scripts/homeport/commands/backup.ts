import type { Loaded } from "../../../lib/platform/backup/restore";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup, HomeportCommand } from "../command";
import { formatBytes } from "../output";
import { resolveFromCaller } from "../release/options";

const IDENTITY = "a file with the age key of an encrypted backup (default: BACKUP_IDENTITY_FILE)";

type IdentityOption = { identity?: string };

export const defineBackup: DefineCommandGroup = (backup) => {
  backup.option("--to <location>", "a folder or s3://BUCKET/PREFIX (default: BACKUP_TO)").run(create);
  (backup.command("verify <file>") as HomeportCommand)
    .description("restore a backup into a temporary database, and compare every row")
    .option("--identity <file>", IDENTITY)
    .run(verify);
};

export const defineRestore: DefineCommandGroup = (restore) => {
  restore
    .argument("<file>", "the backup: a file or s3://BUCKET/PREFIX/FILE")
    .option("--identity <file>", IDENTITY)
    .run(restoreFile);
};

/** A URL of a bucket, or a path from the caller's folder. */
const locationOf = (location: string) => (location.startsWith("s3://") ? location : resolveFromCaller(location));

async function create({ api, output }: CommandContext, { to }: { to?: string }): Promise<void> {
  const location = to && locationOf(to);
  if (location === "") throw new UsageError("--to: is empty");
  const made = await api.call("createBackup", { body: { to: location } });
  const { file, sizeBytes, seconds, isEncrypted } = made;
  output.result(made, [`${made.to.replace(/\/$/, "")}/${file}`]);
  if (output.isJson) return;
  output.note(`Backed up ${formatBytes(sizeBytes)} in ${seconds.toFixed(1)} s.`);
  if (!isEncrypted)
    output.note("The file is not encrypted and contains secrets: set BACKUP_RECIPIENT, or protect the file.");
}

async function verify({ output }: CommandContext, file: string, options: IdentityOption): Promise<void> {
  const { verifyBackup } = await import("../../../lib/platform/backup/restore");
  const { loaded } = await fileOf(file, options);
  report(output, await verifyBackup(loaded), "The backup is complete: every row was restored and compared.");
}

async function restoreFile({ output }: CommandContext, file: string, options: IdentityOption): Promise<void> {
  const { restoreEmbedded, restoreServer } = await import("../../../lib/platform/backup/restore");
  const { loaded, config } = await fileOf(file, options);
  const { DATABASE_URL, DATABASE_MIGRATE_URL, DATA_DIR } = config;
  const url = DATABASE_URL && (DATABASE_MIGRATE_URL ?? DATABASE_URL);
  const result = url
    ? await restoreServer(loaded, url, DATA_DIR, output.note)
    : await restoreEmbedded(loaded, DATA_DIR);
  report(output, result, url ? "Restored into DATABASE_URL." : `Restored into ${DATA_DIR}. Start the service.`);
  if (!url || result.header.secrets === null) return;
  output.note(
    `The secrets of the embedded database are in ${DATA_DIR}/secrets.json: sessions need them in NEXTAUTH_SECRET.`,
  );
}

async function fileOf(file: string, { identity }: IdentityOption) {
  const { loadConfig } = await import("../../../lib/platform/config");
  const { backupReader } = await import("../../../lib/platform/backup/store");
  const config = loadConfig();
  const identityFile = identity === undefined ? config.BACKUP_IDENTITY_FILE : resolveFromCaller(identity);
  return { config, loaded: { read: backupReader(config, locationOf(file)), identityFile } };
}

function report(output: CommandContext["output"], { header, tables }: Loaded, done: string): void {
  const { version, createdAt } = header;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  output.result({ version, createdAt, tables }, [`${rows} rows in ${tables.length} tables, of ${createdAt}`]);
  output.note(done);
}
