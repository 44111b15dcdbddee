import { parseArgs } from "node:util";
import { pino } from "pino";
import { createBillingApi } from "../lib/adapters/billing-api";
import { loadConfig } from "../lib/config";
import { databaseNow } from "../lib/db/clock";
import { isUuid } from "../lib/db/ids";
import { openDatabase } from "../lib/db/open";
import { findEvents, listEvents } from "../lib/subscriptions/operations/list";
import { prunePayloads } from "../lib/subscriptions/operations/prune";
import { type ReconciledCustomer, reconcileAccount, reconcileAll } from "../lib/subscriptions/operations/reconcile";
import { type Replay, type Replayed, replayEvents } from "../lib/subscriptions/operations/replay";
import { runCommandLine, UsageError } from "./command-line";

const HELP = `Usage: npm run billing -- COMMAND

  list [--failed | --received | --ignored | --unlinked] [--account ID] [--limit 50]   the newest events of the inbox
  show EVENT                                      one event with all that is kept of it, as JSON
  replay --event EVENT | --failed | --received | --ignored | --all
                                                  applies events anew, each read again from its delivery
  reconcile --account ID | --all                  asks the provider what it knows (needs BILLING_API_KEY)
  prune                                           drops deliveries older than BILLING_PAYLOAD_RETENTION_DAYS

EVENT is the provider's id of it. The embedded database takes one process at a time: stop the service first.`;

/** Works on the billing inbox: `npm run billing -- COMMAND`. Ends with 1 where an event or a customer failed. */
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
  list: async (deps, { account, unlinked, limit, ...states }) => {
    if (!/^\d{1,6}$/.test(limit)) throw new UsageError("--limit takes a number.");
    requireId(account);
    const selection = { state: chosenState(states), unlinked, accountId: account, limit: Number(limit) };
    const events = await listEvents(deps, selection);
    if (events.length === 0) console.error("No events found.");
    for (const { receivedAt, state, type, eventId, accountId, reason } of events) {
      console.log(
        [receivedAt.toISOString(), state, type, eventId, accountId ?? "-", reason ?? ""].join("\t").trimEnd(),
      );
    }
  },
  show: async (deps, _, eventId) => {
    if (!eventId) throw new UsageError("show needs an event's id.");
    const events = await findEvents(deps, eventId);
    if (events.length === 0) throw new Error(`There is no event ${eventId}.`);
    for (const event of events) console.log(JSON.stringify(event, null, 2));
  },
  replay: async (deps, values) => {
    const counted = new Map<string, number>();
    for await (const replayed of replayEvents(deps, whatToReplay(values))) tell(counted, replayed);
    if (values.event && counted.size === 0) throw new Error(`There is no event ${values.event}.`);
    console.log([...counted].map(([status, count]) => `${count} ${status}`).join(", ") || "Nothing to replay.");
  },
  reconcile: async ({ billing, ...deps }, { account, all }) => {
    if (!billing) throw new Error("BILLING_API_KEY is not set: the provider cannot be asked.");
    if (!account && !all) throw new UsageError("reconcile needs --account ID or --all.");
    requireId(account);
    const asked = account ? reconcileAccount({ ...deps, billing }, account) : reconcileAll({ ...deps, billing });
    for await (const customer of asked) tellCustomer(customer);
  },
  prune: async (deps) => {
    const days = deps.config.BILLING_PAYLOAD_RETENTION_DAYS;
    if (days === undefined) throw new Error("BILLING_PAYLOAD_RETENTION_DAYS is not set: every delivery is kept.");
    console.log(`${await prunePayloads(deps, days)} deliveries dropped.`);
  },
};

async function open() {
  const config = loadConfig();
  const give = (error: Error) => {
    throw error;
  };
  const { client: db, close } = await openDatabase(config, { onConnectionError: give });
  const log = pino({ level: "error" }, process.stderr);
  return { config, db, close, log, now: () => new Date(), dbNow: databaseNow, billing: createBillingApi(config) };
}

function requireId(account: string | undefined): void {
  if (account !== undefined && !isUuid(account)) throw new UsageError("--account takes an account's id.");
}

function chosenState(values: Omit<Values, "limit">) {
  return (["failed", "received", "ignored"] as const).find((state) => values[state]);
}

function whatToReplay({ event, all, ...states }: Values): Replay {
  if (event) return { eventId: event };
  const state = chosenState(states);
  if (state) return { state };
  if (all) return "all";
  throw new UsageError("replay needs --event EVENT, --failed, --received, --ignored or --all.");
}

function tell(counted: Map<string, number>, { eventId, type, status }: Replayed): void {
  counted.set(status, (counted.get(status) ?? 0) + 1);
  if (status === "failed") process.exitCode = 1;
  if (status === "failed") console.error(`${type} ${eventId}: failed; \`show\`, or what stands above, says why`);
}

function tellCustomer(customer: ReconciledCustomer): void {
  if ("failure" in customer) {
    process.exitCode = 1;
    console.error(`${customer.name}: ${customer.failure}`);
  } else if ("waitsSeconds" in customer) {
    console.error(`${customer.name}: the provider is asked too much; asking again in ${customer.waitsSeconds} s`);
  } else {
    const { known, corrected } = customer.result;
    console.log(`${customer.name}: ${known} purchases, ${corrected} corrected`);
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
