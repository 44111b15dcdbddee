import type { PurchaseImportQuery } from "../../../lib/subscriptions/import/schema";
import { SOURCES, SOURCES_WITH_EMAIL } from "../../../lib/subscriptions/import/schema";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import { oneOf } from "../options";
import { resolveFromCaller } from "../release/options";
import type { ResultOf } from "../transport/operations";

type Options = { from?: string; match?: string; dryRun?: boolean };
type Source = PurchaseImportQuery["from"];
type Imported = ResultOf<"importPurchases">["results"][number];

const MATCHES = ["id", "email"];

export function defineBillingImport(billing: HomeportCommand): void {
  billing
    .command("import [file]")
    .description("import what a billing provider, or a table in <file>, knows of every customer")
    .addOption(oneOf("--from <source>", "where from", SOURCES))
    .addOption(oneOf("--match <field>", "how a customer finds the account; an email must be verified", MATCHES))
    .option("--dry-run", "only show what would happen")
    .run(run);
}

async function run(context: CommandContext, given: string | undefined, options: Options): Promise<void> {
  const file = given && resolveFromCaller(given);
  const { match = "id", dryRun = false } = options;
  const from = SOURCES.find((source) => source === options.from);
  if (!from) throw new UsageError(`--from: Must be one of ${SOURCES.join(", ")}`);
  if (match !== "id" && match !== "email") throw new UsageError("--match: Must be one of id, email");
  if (match === "email" && !SOURCES_WITH_EMAIL.includes(from))
    throw new UsageError(`--match email: ${from} knows no emails. ${SOURCES_WITH_EMAIL.join(", ")} do.`);
  assertFile(from, file);
  const { importPurchases } = await import("../import/import-purchases");
  const { counts, listed } = await importPurchases(context, { from, match, dryRun, file });
  const { matched, unmatched, ...others } = counts;
  const isShown = ([, count]: [string, number]) => count > 0;
  const text = Object.entries(others)
    .filter(isShown)
    .map(([status, count]) => `${count} ${status}`);
  const { output } = context;
  if (output.isJson) output.result({ counts, purchases: listed }, []);
  else {
    output.table(listed, null, {
      account: outcomeOf,
      id: ({ id, line }) => id ?? `line ${line}`,
      customer: "customer",
      status: "status",
      differs: ({ differences, failure }) => failure ?? differences.map(toText).join(", "),
    });
    const sum = [`${matched} matched`, `${unmatched} unmatched`, ...text].join(", ");
    output.note(`${dryRun ? "Would be: " : ""}${sum}.`);
  }
  if (counts.failed > 0) process.exitCode = 1;
}

function assertFile(from: Source, file: string | undefined): void {
  if (file === undefined && from === "csv") throw new UsageError("--from csv takes a file with purchases.");
  if (file === undefined && from === "app-store")
    throw new UsageError("--from app-store takes a file with transactions.");
  if (file !== undefined && (from === "stripe" || from === "paddle"))
    throw new UsageError(`--from ${from} takes no file: the provider lists its subscriptions.`);
}

const outcomeOf = ({ accountId, status }: Imported) =>
  accountId ?? (status === "failed" || status === "ignored" ? null : "unmatched");
const toText = ({ field, before, after }: Imported["differences"][number]) =>
  `${field}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
