import { EVENT_LABELS } from "../../../lib/platform/audit/event-types";
import { AuditFilter } from "../../../lib/platform/audit/schema";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked, oneOf, parseLimit } from "../options";
import type { AdminApi } from "../transport/admin-api";
import { findAccount } from "./find-account";

const DEFAULT_LIMIT = "50";

type Filter = Partial<Record<"type" | "actor" | "target" | "account" | "from" | "to", string>>;
type ListOptions = Filter & { limit?: string; csv?: boolean };

export const defineAudit: DefineCommandGroup = (audit) => {
  audit
    .command("list")
    .description("list what operators and accounts did, newest first")
    .addOption(oneOf("--type <type>", "what happened, such as role_changed", Object.keys(EVENT_LABELS)))
    .option("--actor <actor>", "who acted, such as operator:ann or key:ID")
    .option("--target <target>", "what was acted on, such as webhook:ID")
    .option("--account <id|email>", "the account that acted or was acted on; a deleted one by its id")
    .option("--from <time>", "at or after this time: 2026-11-22 or 2026-11-22T09:00:00Z")
    .option("--to <time>", "before this time")
    .option("--limit <count>", `maximum number (default: ${DEFAULT_LIMIT})`)
    .option("--csv", "print all matching events as CSV")
    .run(list);
};

async function list({ api, output }: CommandContext, { limit, csv = false, account, ...filter }: ListOptions) {
  if (csv && (output.isJson || limit !== undefined))
    throw new UsageError("--csv cannot be combined with --json or --limit.");
  const optionOf = { type: "--type", actor: "--actor", target: "--target", from: "--from", to: "--to" };
  const given = checked(AuditFilter, filter, optionOf);
  const maxEntries = parseLimit(limit ?? DEFAULT_LIMIT);
  const query = { ...given, account: await accountId(api, account) };
  if (csv) return void process.stdout.write(await api.text("downloadAuditEvents", { query }));
  const events = await api.list("listAuditEvents", "events", { query }, maxEntries);
  output.table(events, "No events found.", {
    time: "at",
    event: "type",
    actor: "actor",
    account: ({ email, accountId }) => email ?? accountId,
    target: "target",
    network: "network",
    details: ({ details }) => (details ? JSON.stringify(details) : null),
  });
}

async function accountId(api: AdminApi, idOrEmail: string | undefined): Promise<string | undefined> {
  const given = idOrEmail?.trim();
  return given === undefined || isUuid(given) ? given : (await findAccount(api, given)).id;
}
