import { parseArgs } from "node:util";
import { pino } from "pino";
import { createBillingApi } from "../../lib/adapters/revenuecat";
import { findBillingEvents, listBillingEvents } from "../../lib/admin/billing/list-events";
import { prunePayloads } from "../../lib/admin/billing/prune-payloads";
import { type ReconcileResult, reconcileAccount, reconcileAll } from "../../lib/admin/billing/reconcile";
import { type ReplayResult, type ReplaySelection, replayEvents } from "../../lib/admin/billing/replay-events";
import { loadConfig } from "../../lib/config";
import { databaseNow } from "../../lib/db/clock";
import { isUuid } from "../../lib/db/ids";
import { COMMAND } from "../../lib/db/limits";
import { openDatabase } from "../../lib/db/open";
import { runCommandLine, UsageError } from "../command-line";

const HELP = `Usage: npm run billing -- COMMAND

  list [--failed | --received | --ignored | --unlinked] [--account ID] [--limit 50]
                                                  lists the newest events in the inbox
  show EVENT                                      prints an event and its purchase as JSON
  replay --event EVENT | --failed | --received | --ignored | --all
                                                  parses stored payloads and applies their events again
  reconcile --account ID | --all                  compares purchases with the provider (needs BILLING_API_KEY)
  prune                                           deletes payloads older than BILLING_PAYLOAD_RETENTION_DAYS

EVENT is the provider's id of the event. With the embedded database, stop the service first.
The exit code is 1 if an event or a customer failed.`;

/** Operates the billing inbox: `npm run billing -- COMMAND`. */
async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      account: { type: "string" },
      all: { type: "boolean" },
      event: { type: "string" },
      failed: { type: "boolean" },
      ignored: { type: "boolean" },
      received: { type: "boolean" },
      unlinked: { type: "boolean" },
      limit: { type: "string", default: "50" },
    },
  });
  const [command = "", eventId = ""] = positionals;
  const run = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (!run) throw new UsageError(command ? `Unknown command: ${command}` : "No command is given.");
  const deps = await open();
  try {
    await run(deps, values, eventId);
  } finally {
    await deps.close();
  }
}

type Deps = Awaited<ReturnType<typeof open>>;
type Values = {
  account?: string;
  all?: boolean;
  event?: string;
  failed?: boolean;
  ignored?: boolean;
  received?: boolean;
  unlinked?: boolean;
  limit: string;
};

const COMMANDS: Record<string, (deps: Deps, values: Values, eventId: string) => Promise<void>> = {
  list: async (deps, { account, unlinked: isUnlinked, limit, ...states }) => {
    if (!/^\d{1,6}$/.test(limit)) throw new UsageError("--limit takes a number.");
    requireAccountId(account);
    const selection = { state: selectedState(states), isUnlinked, accountId: account, limit: Number(limit) };
    const events = await listBillingEvents(deps, selection);
    if (events.length === 0) console.error("No events found.");
    for (const { receivedAt, state, type, eventId, accountId, reason } of events) {
      console.log(
        [receivedAt.toISOString(), state, type, eventId, accountId ?? "-", reason ?? ""].join("\t").trimEnd(),
      );
    }
  },
  show: async (deps, _, eventId) => {
    if (!eventId) throw new UsageError("show takes the id of an event.");
    const events = await findBillingEvents(deps, eventId);
    if (events.length === 0) throw new Error(`There is no event ${eventId}.`);
    for (const event of events) console.log(JSON.stringify(event, null, 2));
  },
  replay: async (deps, values) => {
    const counts = new Map<string, number>();
    for await (const result of replayEvents(deps, replaySelection(values))) {
      counts.set(result.status, (counts.get(result.status) ?? 0) + 1);
      reportFailedReplay(result);
    }
    if (values.event && counts.size === 0) throw new Error(`There is no event ${values.event}.`);
    console.log([...counts].map(([status, count]) => `${count} ${status}`).join(", ") || "Nothing to replay.");
  },
  reconcile: async ({ billing, ...deps }, { account, all }) => {
    if (!billing) throw new Error("BILLING_API_KEY is not set: the provider's API needs it.");
    if (!account && !all) throw new UsageError("reconcile takes --account ID or --all.");
    requireAccountId(account);
    const results = account ? reconcileAccount({ ...deps, billing }, account) : reconcileAll({ ...deps, billing });
    for await (const result of results) reportReconciled(result);
  },
  prune: async (deps) => {
    const days = deps.config.BILLING_PAYLOAD_RETENTION_DAYS;
    if (days === undefined) throw new Error("BILLING_PAYLOAD_RETENTION_DAYS is not set: all payloads are kept.");
    console.log(`${await prunePayloads(deps, days)} payloads deleted.`);
  },
};

async function open() {
  const config = loadConfig();
  const fail = (error: Error) => {
    throw error;
  };
  const { client: db, close } = await openDatabase(config, { onConnectionError: fail }, COMMAND);
  const log = pino({ level: "error" }, process.stderr);
  return { config, db, close, log, now: () => new Date(), dbNow: databaseNow, billing: createBillingApi(config) };
}

function requireAccountId(account: string | undefined): void {
  if (account !== undefined && !isUuid(account)) throw new UsageError("--account takes an account's id.");
}

function selectedState(values: Omit<Values, "limit">) {
  return (["failed", "received", "ignored"] as const).find((state) => values[state]);
}

function replaySelection({ event, all, ...states }: Values): ReplaySelection {
  if (event) return { eventId: event };
  const state = selectedState(states);
  if (state) return { state };
  if (all) return "all";
  throw new UsageError("replay takes --event EVENT, --failed, --received, --ignored or --all.");
}

function reportFailedReplay({ eventId, type, status }: ReplayResult): void {
  if (status !== "failed") return;
  process.exitCode = 1;
  console.error(`${type} ${eventId}: failed. \`show\` prints the reason.`);
}

function reportReconciled(reconciled: ReconcileResult): void {
  const { appUserId } = reconciled;
  if ("failure" in reconciled) {
    process.exitCode = 1;
    console.error(`${appUserId}: ${reconciled.failure}`);
  } else if ("pauseSeconds" in reconciled) {
    console.error(`${appUserId}: the provider limits requests. Retrying in ${reconciled.pauseSeconds} s.`);
  } else {
    const { known, corrected } = reconciled.result;
    console.log(`${appUserId}: ${known} purchases, ${corrected} corrected`);
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
