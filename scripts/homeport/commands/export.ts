import { readFile } from "node:fs/promises";
import { CommandError } from "../../../lib/errors";
import { parseIdentities } from "../../../lib/platform/backup/encoding";
import { loadConfig } from "../../../lib/platform/config";
import { withSecrets } from "../../../lib/platform/embedded-secrets";
import { openCommandDatabase } from "../../command-database";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import type { Manifest } from "../export/folder";
import { resolveFromCaller } from "../release/options";
import { drawShare } from "../terminal";

type ExportOptions = {
  to?: string;
  withSecrets?: boolean;
  recipient?: string[];
  withFiles?: boolean;
  maxPause?: string;
};
type ImportOptions = { identity?: string; withoutSecrets?: boolean };

const collect = (value: string, before: string[] = []) => [...before, value];

export const defineExport: DefineCommandGroup = (group) => {
  group
    .option("--to <folder>", "a folder that is empty, or does not exist")
    .option("--with-secrets", "also export secrets, encrypted for the recipients")
    .option(
      "--recipient <age1...|file>",
      "who can decrypt the secrets: an age recipient, or a file of them; repeatable",
      collect,
    )
    .option("--with-files", "also export the files in the release catalog's folder")
    .option(
      "--max-pause <seconds>",
      "how long writes to the embedded database may wait while it is copied (default: 10)",
    )
    .run(exportAll);
};

export const defineImport: DefineCommandGroup = (group) => {
  group
    .argument("<folder>", "the folder of `homeport export`")
    .option("--identity <file>", "a file with the age key of the secrets")
    .option("--without-secrets", "leave the secrets out")
    .run(importAll);
};

/** @throws UsageError for a service that is elsewhere: folders and secrets are of this machine */
function requireThisMachine(): void {
  if (process.env.HOMEPORT_URL)
    throw new UsageError("This command works on the service of this folder: unset HOMEPORT_URL.");
}

async function exportAll({ api, output }: CommandContext, options: ExportOptions): Promise<void> {
  requireThisMachine();
  if (!options.to) throw new UsageError("--to: is missing");
  const { maxPause = "10" } = options;
  if (!/^\d{1,4}$/.test(maxPause) || Number(maxPause) < 1 || Number(maxPause) > 3_600)
    throw new UsageError("--max-pause: must be a number of seconds from 1 to 3600");
  const recipients = await recipientsOf(options);
  const { writeExport } = await import("../export/write-export");
  const { readCatalog } = await import("../export/releases");
  const config = loadConfig();
  const folder = resolveFromCaller(options.to);
  const manifest = await writeExport({
    folder,
    recipients,
    secrets: (await withSecrets(config)).secrets,
    vapidPrivateKey: config.VAPID_PRIVATE_KEY,
    hasReleaseFiles: options.withFiles === true,
    copyRows: async () => {
      const body = { maxPauseSeconds: Number(maxPause) };
      return (await api.call("exportDatabase", { body })).file;
    },
    readCatalog: () => readCatalog(config),
  });
  output.result({ folder, ...manifest }, linesOf(manifest));
  if (!output.isJson)
    output.note(`Exported to ${folder}. It has personal data and the hashes of passwords: protect it.`);
}

/** @throws UsageError, CommandError recipient_invalid */
async function recipientsOf({ withSecrets = false, recipient = [] }: ExportOptions): Promise<string[] | null> {
  if (withSecrets !== recipient.length > 0)
    throw new UsageError("--with-secrets and --recipient belong together: secrets are encrypted for their recipients.");
  if (!withSecrets) return null;
  const { Encrypter } = await import("age-encryption");
  const given = await Promise.all(recipient.map(async (one) => (one.startsWith("age1") ? [one] : await linesIn(one))));
  const recipients = given.flat();
  try {
    const encrypter = new Encrypter();
    for (const one of recipients) encrypter.addRecipient(one);
  } catch (error) {
    throw new CommandError(
      "recipient_invalid",
      `--recipient: is not a recipient of age-keygen: ${(error as Error).message}.`,
    );
  }
  if (recipients.length === 0) throw new CommandError("recipient_invalid", "--recipient: the file has no recipient.");
  return recipients;
}

async function linesIn(file: string): Promise<string[]> {
  const lines = (await readKeyFile(file)).split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

/** @throws CommandError file_not_found */
const readKeyFile = (file: string): Promise<string> =>
  readFile(resolveFromCaller(file), "utf8").catch((error: Error) => {
    throw new CommandError("file_not_found", `The file cannot be read: ${error.message}.`);
  });

async function importAll({ output }: CommandContext, given: string, options: ImportOptions): Promise<void> {
  requireThisMachine();
  const { identity, withoutSecrets = false } = options;
  if (identity !== undefined && withoutSecrets)
    throw new UsageError("--identity and --without-secrets exclude each other.");
  const identities = identity === undefined ? [] : await parseIdentities(await readKeyFile(identity));
  const { checkExport, importExport } = await import("../export/read-export");
  const source = { folder: resolveFromCaller(given), identities };
  const checked = await checkExport(source, withoutSecrets, (share) => drawShare("Checking", share));
  const config = await withSecrets(loadConfig());
  const database = await openCommandDatabase(config).catch((error: Error) => {
    throw error.name === "DataDirInUseError" ? new CommandError("service_running", error.message) : error;
  });
  try {
    const isCatalogWritten = await importExport({ config, database }, checked, (share) =>
      drawShare("Importing", share),
    );
    const { manifest } = checked;
    output.result({ folder: source.folder, ...manifest }, linesOf(manifest));
    for (const note of notesOf(manifest, isCatalogWritten)) output.note(note);
  } finally {
    drawShare("", 1);
    await database.close();
  }
}

const linesOf = ({ files }: Manifest) => files.map(({ name, count }) => `${name}\t${count}`);

function notesOf({ files, releaseFiles }: Manifest, isCatalogWritten: boolean): string[] {
  const has = (name: string) => files.some((file) => file.name.startsWith(`${name}.`) && file.count > 0);
  return [
    ...(has("totp-factors") || files.some(({ isEncrypted }) => isEncrypted)
      ? []
      : ["Without secrets, no account has an authenticator app, and webhook endpoints have new signing secrets."]),
    ...(isCatalogWritten ? [] : ["The release catalog is at a URL, and was not changed."]),
    ...(has("releases") && releaseFiles.length === 0
      ? ["Files of releases are not in the export: copy the catalog's folder."]
      : []),
  ];
}
