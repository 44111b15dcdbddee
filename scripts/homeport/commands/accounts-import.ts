import { readFile } from "node:fs/promises";
import { ImportQuery } from "../../../lib/accounts/import/schema";
import { HASH_FORMATS } from "../../../lib/auth/passwords/imported-hash";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import type { ImportOptions } from "../import/import-accounts";
import { COLUMN_FIELDS, SOURCE_NAMES, type SourceName } from "../import/sources";
import { checked, oneOf } from "../options";
import { resolveFromCaller } from "../release/options";

type Options = {
  from?: SourceName;
  hashConfig?: string;
  columns?: string;
  onConflict?: ImportQuery["onConflict"];
  dryRun?: boolean;
  notify?: boolean;
};

const CONFLICTS = ImportQuery.shape.onConflict.unwrap().options;

export function defineImport(accounts: HomeportCommand): void {
  accounts
    .command("import <file>")
    .description("import the accounts of another system: NDJSON, or what --from names")
    .addOption(oneOf("--from <source>", `what the file is: ${SOURCE_NAMES.join(", ")}`, SOURCE_NAMES))
    .option("--hash-config <file>", 'the parameters of the password hashes: Firebase\'s, or {"format": …} for csv')
    .option("--columns <list>", `for csv, the column of each field: email=EMAIL,…; fields: ${COLUMN_FIELDS.join(", ")}`)
    .addOption(
      oneOf(
        "--on-conflict <action>",
        `if the account exists and differs: ${CONFLICTS.join(", ")} (default: skip)`,
        CONFLICTS,
      ),
    )
    .option("--dry-run", "only show what would happen")
    .option("--notify", "announce new accounts to webhooks, and invite those without a password or provider")
    .run(run);
}

async function run(context: CommandContext, given: string, options: Options): Promise<void> {
  const { from, onConflict, dryRun, notify } = options;
  if (from !== undefined && !SOURCE_NAMES.includes(from))
    throw new UsageError(`--from: Must be one of ${SOURCE_NAMES.join(", ")}`);
  const query = {
    ...(onConflict && { onConflict }),
    ...(dryRun && { dryRun: "true" }),
    ...(notify && { notify: "true" }),
  };
  checked(ImportQuery, query, { onConflict: "--on-conflict" });
  const file = resolveFromCaller(given);
  const importOptions: ImportOptions = {
    ...(from && { from }),
    ...(onConflict && { onConflict }),
    ...(dryRun && { dryRun }),
    ...(notify && { notify }),
    ...(options.hashConfig && { hashConfig: await readHashConfig(options.hashConfig, from) }),
    ...(options.columns && { columns: parseColumns(options.columns, from) }),
  };
  const { importAccounts } = await import("../import/import-accounts");
  const counts = await importAccounts(context, file, importOptions);
  const text = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
  context.output.result(counts, [`${dryRun ? "Would be: " : ""}${text.join(", ")}.`]);
  if (counts.refused === 0) return;
  process.exitCode = 1;
  context.output.note(`Mend the records in ${file}.refused.ndjson and import that file with the same options.`);
}

/**
 * Reads JSON, or the text that Firebase's console shows: `hash_config { algorithm: SCRYPT, … }`.
 * @throws UsageError
 */
async function readHashConfig(file: string, from: SourceName | undefined): Promise<Record<string, string>> {
  const text = await readFile(resolveFromCaller(file), "utf8").catch((error: Error) => {
    throw new UsageError(`--hash-config: ${file} cannot be read: ${error.message}`);
  });
  const fields = [...text.matchAll(/"?(\w+)"?\s*:\s*"?([^\s",}]+)/g)].map(([, name, value]) => [name, value]);
  const config: Record<string, string> = Object.fromEntries(fields);
  if (from === "csv" && !(HASH_FORMATS as readonly string[]).includes(config.format ?? ""))
    throw new UsageError(`--hash-config: format must be one of ${HASH_FORMATS.join(", ")}`);
  return config;
}

/** @throws UsageError */
function parseColumns(text: string, from: SourceName | undefined): Record<string, string> {
  if (from !== "csv") throw new UsageError("--columns is for --from csv");
  const pairs = text.split(",").map((pair): [string, string] => {
    const [field = "", ...column] = pair.split("=");
    return [field.trim(), column.join("=").trim()];
  });
  for (const [field, column] of pairs) {
    if (!(COLUMN_FIELDS as readonly string[]).includes(field))
      throw new UsageError(`--columns: ${field} is not one of ${COLUMN_FIELDS.join(", ")}`);
    if (!column) throw new UsageError(`--columns: ${field} names no column`);
  }
  return Object.fromEntries(pairs);
}
