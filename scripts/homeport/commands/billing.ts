import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { parseLimit } from "../options";
import { printable } from "../output";
import { drawShare } from "../terminal";
import type { ResultOf } from "../transport/operations";
import { defineGrants } from "./billing-grants";
import { defineBillingImport } from "./billing-import";
import { defineSendTest } from "./billing-send-test";

/** How often in a row a command waits for the provider, and for how long at most. */
const MAX_WAITS = 5;
const MAX_WAIT_SECONDS = 300;

type StateOptions = { failed?: boolean; received?: boolean; ignored?: boolean };
type ListOptions = StateOptions & {
  unlinked?: boolean;
  account?: string;
  purchase?: string;
  type?: string;
  limit: string;
};
type ReplayOptions = StateOptions & { event?: string; all?: boolean; reason?: string };
type ReconcileOptions = { account?: string; all?: boolean; reason?: string };
type AssignOptions = { purchase?: string; customer?: string; account: string; dryRun?: boolean; reason?: string };

export const defineBilling: DefineCommandGroup = (billing) => {
  defineInbox(billing);
  defineCustomers(billing);
  defineGrants(billing);
  defineBillingImport(billing);
  defineSendTest(billing);
};

const REASON = ["--reason <text>", "the reason, for the audit trail"] as const;

const defineInbox: DefineCommandGroup = (billing) => {
  const withStates = (name: string) =>
    billing
      .command(name)
      .option("--failed", "events that could not be applied")
      .option("--received", "events that are not applied yet")
      .option("--ignored", "events that change nothing");
  withStates("list")
    .description("list the newest events in the inbox")
    .option("--unlinked", "events without an account")
    .option("--account <account>", "events of an account, by its id or email")
    .option("--purchase <id>", "events of a purchase, by its id or transaction")
    .option("--type <type>", "events of a type, such as RENEWAL")
    .option("--limit <number>", "maximum number", "50")
    .run(list);
  billing.command("show <event>").description("print an event with its payload and what it changed, as JSON").run(show);
  billing.command("timeline <purchase>").description("show how a purchase got its state, event by event").run(timeline);
  billing
    .command("products")
    .description("list every product that was bought, and the entitlements that it gives")
    .option("--without-entitlement", "those whose subscriptions give nothing")
    .run(listProducts);
  withStates("replay")
    .description("parse stored payloads and apply their events again")
    .option("--event <event>", "one event")
    .option("--all", "all events, oldest first")
    .option(...REASON)
    .run(replay);
  billing
    .command("prune")
    .description("delete payloads older than BILLING_PAYLOAD_RETENTION_DAYS")
    .option(...REASON)
    .run(prune);
};

const defineCustomers: DefineCommandGroup = (billing) => {
  billing
    .command("reconcile")
    .description("compare purchases with the providers whose API has a key")
    .option("--account <id>", "one account")
    .option("--all", "all customers")
    .option(...REASON)
    .run(reconcile);
  billing
    .command("assign")
    .description("give an unlinked customer's purchases to an account")
    .requiredOption("--account <id>", "the account")
    .option("--purchase <id>", "one of the customer's purchases")
    .option("--customer <id>", "an App User ID of the customer")
    .option("--dry-run", "change nothing")
    .option(...REASON)
    .run(assign);
};

async function list({ api, output }: CommandContext, { limit, account, unlinked, ...options }: ListOptions) {
  const maxEntries = parseLimit(limit);
  const { purchase, type } = options;
  const query = { state: stateOf(options), unlinked, account, purchase, type };
  const events = await api.list("listBillingEvents", "events", { query }, maxEntries);
  output.table(events, "No events found.", {
    received: "receivedAt",
    state: "state",
    type: "type",
    event: "eventId",
    account: ({ accountId, accountEmail }) => accountEmail ?? accountId,
    reason: ({ reason }) => reason ?? "",
  });
}

async function show({ api, output }: CommandContext, eventId: string): Promise<void> {
  const events = [];
  for (const { id } of await findEvents(api, eventId))
    events.push(await api.call("showBillingEvent", { params: { id } }));
  const document = events.length === 1 ? events[0] : events;
  output.result(document, [JSON.stringify(document, null, 2)]);
}

async function listProducts({ api, output }: CommandContext, { withoutEntitlement }: { withoutEntitlement?: boolean }) {
  const { products } = await api.call("listBillingProducts", { query: { withoutEntitlement } });
  output.table(products, "No products found.", {
    provider: "provider",
    product: "productId",
    entitlements: ({ entitlementIds }) => entitlementIds.join(", ") || null,
    configured: ({ configuredEntitlementIds: ids }) => ids && (ids.join(", ") || "nothing"),
    purchases: "purchases",
    without: "withoutEntitlement",
  });
}

/** The events with an id: one for each provider. @throws Error if there is none */
async function findEvents(api: CommandContext["api"], eventId: string) {
  const events = await api.list("listBillingEvents", "events", { query: { event: eventId } });
  if (events.length === 0) throw new CommandError("not_found", `There is no event ${eventId}.`);
  return events;
}

async function timeline({ api, output }: CommandContext, purchaseId: string): Promise<void> {
  if (!isUuid(purchaseId)) throw new UsageError("timeline takes a purchase's id.");
  const steps = await api.list("showPurchaseTimeline", "steps", { params: { id: purchaseId } });
  output.table(steps, null, {
    occurred: ({ event }) => event.occurredAt,
    type: ({ event }) => event.type,
    event: ({ event }) => event.eventId,
    status: "status",
    changes: ({ changes }) => changes.map(({ field, after }) => `${field}=${JSON.stringify(after)}`).join(" "),
  });
}

async function replay(context: CommandContext, { event, all, reason, ...states }: ReplayOptions): Promise<void> {
  const state = stateOf(states) ?? (all ? "all" : undefined);
  assertAtMostOne({ event, all, ...states });
  if (!event && !state) {
    throw new UsageError("replay takes --event EVENT, --failed, --received, --ignored or --all.");
  }
  const counts = new Map<string, number>();
  const count = (status: string, by: number) => counts.set(status, (counts.get(status) ?? 0) + by);
  const failures: ResultOf<"replayBillingEvents">["failures"] = [];
  const { api, output } = context;
  if (event) {
    for (const { id } of await findEvents(api, event)) {
      const replayed = await api.call("replayBillingEvent", { params: { id }, body: { reason } });
      count(replayed.status, 1);
      if (replayed.status === "failed") failures.push(replayed);
    }
  } else if (state) {
    const send = (cursor?: string) => api.call("replayBillingEvents", { body: { state, reason, cursor } });
    for await (const batch of batches("replays", send)) {
      for (const [status, by] of Object.entries(batch.counts)) count(status, by);
      failures.push(...batch.failures);
    }
  }
  for (const { type, eventId } of failures)
    output.note(printable(`${type} ${eventId}: failed. \`show\` prints the reason.`));
  if (failures.length > 0) process.exitCode = 1;
  const text = [...counts].map(([status, by]) => `${by} ${status}`).join(", ") || "Nothing to replay.";
  output.result({ counts: Object.fromEntries(counts), failures }, [text]);
}

async function reconcile(context: CommandContext, { account, all, reason }: ReconcileOptions): Promise<void> {
  if (!account && !all) throw new UsageError("reconcile takes --account ID or --all.");
  assertAtMostOne({ account, all });
  requireAccountId(account);
  const { api, output } = context;
  const send = (cursor?: string) => api.call("reconcilePurchases", { body: { accountId: account, reason, cursor } });
  const customers: ResultOf<"reconcilePurchases">["customers"] = [];
  let waits = 0;
  for await (const batch of batches("reconciliations", send)) {
    for (const { appUserId, known, corrected, failure } of batch.customers) {
      if (failure !== null) process.exitCode = 1;
      if (failure !== null) output.note(printable(`${appUserId}: ${failure}`));
      else if (!output.isJson) {
        output.result(null, [printable(`${appUserId}: ${known} purchases, ${corrected} corrected`)]);
      }
    }
    customers.push(...batch.customers);
    waits = batch.customers.length > 0 ? 0 : waits;
    if (batch.retry) await waitFor(context, batch.retry, ++waits);
  }
  if (output.isJson) output.result(customers, []);
}

/** Waits as long as the provider asks for. @throws Error if it still does after several times */
async function waitFor(
  { output }: CommandContext,
  { appUserId, afterSeconds }: NonNullable<ResultOf<"reconcilePurchases">["retry"]>,
  waits: number,
) {
  if (waits >= MAX_WAITS)
    throw new CommandError("rate_limited", `${appUserId}: the provider limits requests. Try again later.`);
  const seconds = Math.min(afterSeconds, MAX_WAIT_SECONDS);
  output.note(printable(`${appUserId}: the provider limits requests. Retrying in ${seconds} s.`));
  await delay(seconds * 1000);
}

async function assign({ api, output }: CommandContext, options: AssignOptions): Promise<void> {
  const { purchase, customer, account, dryRun, reason } = options;
  requireAccountId(account);
  if ((purchase === undefined) === (customer === undefined)) {
    throw new UsageError("assign takes either --purchase ID or --customer ID.");
  }
  const body = { purchaseId: purchase, appUserId: customer, accountId: account, isDryRun: dryRun, reason };
  const assigned = await api.call("assignPurchases", { body });
  const lines = assigned.purchases.map(({ id, store, productId }) =>
    [id, store, productId ?? "-"].map(printable).join("\t"),
  );
  const isChanged = assigned.eventId !== null;
  if (!isChanged) output.note(dryRun ? "Nothing was changed." : "The account already has these purchases.");
  output.result(assigned, lines);
}

async function prune({ api, output }: CommandContext, { reason }: { reason?: string }): Promise<void> {
  const send = (cursor?: string) => api.call("pruneBillingPayloads", { body: { reason, cursor } });
  let deleted = 0;
  for await (const batch of batches("prune", send)) deleted += batch.deleted;
  output.result({ deleted }, [`${deleted} payloads deleted.`]);
}

/** Repeats a request of bounded work until all is done. A command that is interrupted can be run again. */
async function* batches<Batch extends { progress: number; nextCursor: string | null }>(
  name: string,
  send: (cursor: string | undefined) => Promise<Batch>,
): AsyncGenerator<Batch> {
  for (let cursor: string | undefined; ; ) {
    const batch = await send(cursor);
    drawShare(name, batch.progress);
    yield batch;
    if (batch.nextCursor === null) return;
    cursor = batch.nextCursor;
  }
}

function requireAccountId(account: string | undefined): void {
  if (account !== undefined && !isUuid(account)) throw new UsageError("--account takes an account's id.");
}

function stateOf({ failed, received, ignored }: StateOptions): "failed" | "received" | "ignored" | undefined {
  assertAtMostOne({ failed, received, ignored });
  return failed ? "failed" : received ? "received" : ignored ? "ignored" : undefined;
}

/** @throws UsageError if more than one of the options is given */
function assertAtMostOne(options: Record<string, unknown>): void {
  const given = Object.keys(options).filter((name) => options[name] !== undefined);
  if (given.length > 1)
    throw new UsageError(`${given.map((name) => `--${name}`).join(" and ")} are mutually exclusive.`);
}
