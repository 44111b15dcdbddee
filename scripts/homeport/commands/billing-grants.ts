import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { parse } from "csv-parse";
import type { z } from "zod";
import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import { BatchGrant, MAX_GRANT_EMAILS } from "../../../lib/subscriptions/grants/schema";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import { checked } from "../options";
import { printable } from "../output";
import { resolveFromCaller } from "../release/options";
import type { ResultOf } from "../transport/operations";
import { accountIdOf } from "./find-account";

type GrantOptions = { until?: string; days?: string; lifetime?: true; reason: string; file?: string; dryRun?: boolean };
type Terms = Omit<z.input<typeof BatchGrant>, "emails" | "isDryRun">;
type Result = ResultOf<"grantEntitlements">["results"][number];
type Grant = ResultOf<"listGrants">["grants"][number];

export function defineGrants(billing: HomeportCommand): void {
  billing
    .command("grant [account] [entitlement]")
    .description("grant an entitlement to an account, or with --file to many: grant ENTITLEMENT --file FILE")
    .requiredOption("--reason <text>", "why")
    .option("--until <time>", "until a time; a date is its midnight in UTC")
    .option("--days <number>", "for so many days")
    .option("--lifetime", "without an end")
    .option("--file <file>", "the accounts: CSV with a column email, or the first")
    .option("--dry-run", "with --file, only show what would be granted")
    .run(grant);
  billing.command("grants <account>").description("list the entitlements that were granted to an account").run(list);
  billing
    .command("end-grant <grant>")
    .description("end a grant")
    .option("--reason <text>", "the reason, for the audit trail")
    .run(end);
}

async function grant(
  context: CommandContext,
  first: string | undefined,
  second: string | undefined,
  { file, dryRun, ...options }: GrantOptions,
): Promise<void> {
  const names = [first, second].filter((name) => name !== undefined);
  const entitlementId = names.at(-1);
  if (entitlementId === undefined || names.length !== (file === undefined ? 2 : 1))
    throw new UsageError("grant takes ACCOUNT ENTITLEMENT, or ENTITLEMENT --file FILE.");
  if (dryRun && file === undefined) throw new UsageError("--dry-run goes with --file.");
  const terms = termsOf(entitlementId, options);
  if (file !== undefined) return grantToFile(context, resolveFromCaller(file), terms, dryRun === true);
  const { api, output } = context;
  const account = String(first);
  const changed = await api.call("grantEntitlement", {
    body: { accountId: await accountIdOf(api, account), ...terms },
  });
  const { id, endsAt } = changed.grant;
  output.result(changed, [printable(`${account} has ${entitlementId} ${endOf(endsAt)}: grant ${id}.`)]);
}

/** @throws UsageError */
function termsOf(entitlementId: string, { until, days, lifetime, reason }: GrantOptions): Terms {
  const given = [until, days, lifetime].filter((one) => one !== undefined).length;
  if (given !== 1) throw new UsageError("grant takes either --until TIME, --days N or --lifetime.");
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(until ?? "");
  const terms = {
    entitlementId,
    reason,
    ...(until !== undefined && { until: isDate ? `${until}T00:00:00Z` : until }),
    ...(days !== undefined && { days: Number(days) }),
    ...(lifetime && { isLifetime: true as const }),
  };
  const optionOf = { entitlementId: "ENTITLEMENT", until: "--until", days: "--days", reason: "--reason" };
  checked(BatchGrant.omit({ emails: true }), terms, optionOf);
  return terms;
}

async function grantToFile({ api, output }: CommandContext, file: string, terms: Terms, isDryRun: boolean) {
  const results: (Result & { line: number })[] = [];
  const send = async (rows: readonly Row[]) => {
    const emails = rows.map(({ email }) => email);
    const sent = await api.call("grantEntitlements", { body: { ...terms, emails, isDryRun } });
    results.push(...sent.results.map((result, i) => ({ line: rows[i]?.line ?? 0, ...result })));
  };
  let rows: Row[] = [];
  for await (const row of readEmails(file)) {
    rows.push(row);
    if (rows.length < MAX_GRANT_EMAILS) continue;
    await send(rows);
    rows = [];
  }
  if (rows.length > 0) await send(rows);
  output.table(results, `${file} has no email.`, {
    line: "line",
    status: ({ status }) => status.replace("_", " "),
    email: "email",
  });
  const count = (status: Result["status"]) => results.filter((result) => result.status === status).length;
  const counts = `${count("granted")} granted, ${count("unchanged")} unchanged, ${count("unknown_account")} unknown`;
  output.note(`${isDryRun ? "Would be: " : ""}${counts}.`);
}

type Row = { line: number; email: string };

const MAX_ROW_BYTES = 64 * 1024;
/** More emails than a test has. What happened for each is kept until all are done. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** The column `email` of a CSV file, or its first one. The first row is a heading, unless it has an email. */
async function* readEmails(file: string): AsyncGenerator<Row> {
  const { size } = await stat(file).catch((error: Error) => {
    throw unreadable(file, error);
  });
  if (size > MAX_FILE_BYTES) throw unreadable(file, new Error("more than 16 MiB"));
  const rows = parse({
    bom: true,
    delimiter: [",", ";", "\t"],
    info: true,
    max_record_size: MAX_ROW_BYTES,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
  });
  const source = createReadStream(file).on("error", (error) => rows.destroy(error));
  let column: number | undefined;
  try {
    for await (const { record, info } of source.pipe(rows) as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (column === undefined) {
        column = Math.max(
          0,
          record.findIndex((name) => name.toLowerCase() === "email"),
        );
        if (!record[column]?.includes("@")) continue;
      }
      const email = record[column] ?? "";
      if (email !== "") yield { line: info.lines, email: email.slice(0, 320) };
    }
  } catch (error) {
    throw unreadable(file, error as Error);
  }
}

const unreadable = (file: string, { message }: Error) => new CommandError("file_unreadable", `${file}: ${message}`);

async function list({ api, output }: CommandContext, account: string): Promise<void> {
  const grants = await api.list("listGrants", "grants", { query: { account: await accountIdOf(api, account) } });
  output.table(grants, "No grants found.", {
    grant: "id",
    entitlement: "entitlementId",
    state: ({ isActive }) => (isActive ? "active" : "ended"),
    ends: ({ endsAt }) => endsAt ?? "never",
    granted: ({ granted }) => granted.at,
    by: ({ granted }) => nameOf(granted),
    reason: ({ granted }) => granted.reason,
    "ended by": ({ ended }) => ended && nameOf(ended),
    "end reason": ({ ended }) => ended?.reason,
  });
}

const nameOf = ({ name, actor }: Grant["granted"]) => name ?? actor;

async function end({ api, output }: CommandContext, id: string, { reason }: { reason?: string }): Promise<void> {
  if (!isUuid(id)) throw new UsageError("end-grant takes the id of a grant, as `grants` prints it.");
  const ended = await api.call("endGrant", { params: { id }, query: { reason } });
  const { entitlementId, endsAt } = ended.grant;
  const text = ended.isChanged
    ? `The grant of ${entitlementId} has ended.`
    : `The grant of ${entitlementId} ended before: ${endsAt}.`;
  output.result(ended, [printable(text)]);
}

const endOf = (endsAt: string | null) => (endsAt === null ? "without an end" : `until ${endsAt}`);
