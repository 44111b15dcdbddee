import type { Tx } from "../../context";
import { newId } from "../../platform/db/ids";
import type { ProviderEvent } from "../events";
import { announceChanges } from "../notifications/announce-changes";
import { StoredPurchase } from "../purchase-state";
import type { Applied, ApplyDeps } from "./apply-in-transaction";
import { type Decision, decide, type ParsedEvent, type PurchaseKey } from "./decide-event";
import { newPurchase } from "./purchases";
import { foldPurchases, type PurchaseToFold, purchaseUpsert, type Refolded } from "./refold";
import {
  type AppliedEvent,
  appliedEventsInsert,
  type NewEvent,
  ownerAccountIds,
  storedAppUserIds,
} from "./store-events";

type NewDecision = Exclude<Decision, { kind: "change_owners" }>;
/** `accountIds`: the accounts that the event names, in order of precedence. */
type Candidate = { newEvent: NewEvent; accountIds: string[]; decision: NewDecision };

/**
 * Stores new events of purchases in the caller's transaction, already applied: each event and each purchase is written
 * once. The events are all different, in their order of arrival. Returns null for an event that has to be stored first
 * and applied alone: it is stored already, or another event of its transaction names another original transaction.
 * @throws Error if an event cannot be applied, or if another transaction has stored one of the events or created one of
 * the purchases meanwhile. Then none is stored.
 */
export async function applyNewEvents(
  deps: ApplyDeps,
  tx: Tx,
  newEvents: readonly NewEvent[],
): Promise<(Applied | null)[]> {
  const at = deps.now();
  const decisions = attachToNamed(newEvents, newEvents.map(decideNew));
  const related = await lockRelated(tx, newEvents, decisions);
  const existing = new Set(related.accountIds);
  const candidates = newEvents.map((newEvent, i): Candidate | null => {
    const decision = decisions[i];
    if (!decision || related.states[i] || related.haveSiblings[i]) return null;
    const accountIds = ownerAccountIds(newEvent.event).filter((id) => existing.has(id));
    return { newEvent, accountIds, decision: linked(decision, accountIds[0] ?? null) };
  });
  const given = candidates.filter((candidate) => candidate !== null);
  const refolded = await writeApplied(tx, given, related.purchases, at);
  const changes = given.flatMap(({ decision: { event } }) => {
    const change = refolded.get(event);
    return change ? { event, purchases: [change] } : [];
  });
  const toReconcile = await announceChanges(tx, deps, changes);
  return candidates.map((candidate, i) => {
    if (related.states[i] === "processed") return { status: "duplicate", toReconcile: [] };
    if (!candidate) return null;
    const { decision } = candidate;
    if (decision.kind === "reject") return { status: decision.state, toReconcile: [] };
    return { status: "processed", toReconcile: toReconcile.get(decision.event) ?? [] };
  });
}

/** Decides how to apply an event that is not stored; null if it says who owns a customer's purchases. */
function decideNew({ provider, eventId, event }: NewEvent): NewDecision | null {
  const decision = decide(
    {
      ...event,
      ...storedAppUserIds(event),
      id: newId(),
      provider,
      eventId,
      state: "received",
      accountId: null,
      purchaseId: null,
      renewalPurchaseId: null,
      siblingOriginalTransactionId: null,
    },
    event.facts,
  );
  return decision.kind === "change_owners" ? null : decision;
}

/**
 * Attaches the events that name no original transaction to the purchase that another of the events names for their
 * transaction.
 */
function attachToNamed(newEvents: readonly NewEvent[], decisions: (NewDecision | null)[]): (NewDecision | null)[] {
  const originals = new Map<string, string>();
  for (const [i, { event }] of newEvents.entries()) {
    const decision = decisions[i];
    if (decision?.kind !== "attach" || event.transactionId === null || namesNoOriginal(event)) continue;
    const name = nameOf({ ...decision.key, originalTransactionId: event.transactionId });
    if (!originals.has(name)) originals.set(name, decision.key.originalTransactionId);
  }
  return decisions.map((decision, i) => {
    const event = newEvents[i]?.event;
    if (decision?.kind !== "attach" || !event || !namesNoOriginal(event)) return decision;
    const originalTransactionId = originals.get(nameOf(decision.key)) ?? decision.key.originalTransactionId;
    return { ...decision, key: { ...decision.key, originalTransactionId } };
  });
}

const namesNoOriginal = ({ transactionId, originalTransactionId }: ProviderEvent) =>
  transactionId !== null && transactionId === originalTransactionId;

const linked = (decision: NewDecision, accountId: string | null): NewDecision => ({
  ...decision,
  event: { ...decision.event, accountId },
});

/** What is stored and concerns new events. */
type Related = {
  /** The accounts that the events name. */
  accountIds: string[];
  /** The purchases that the events are about. */
  purchases: StoredPurchase[];
  /** The state of each event that is stored already; null for one that is not. */
  states: (string | null)[];
  /** Whether another event or purchase names the event's transaction with another original transaction. */
  haveSiblings: boolean[];
};

const NO_KEY = { environment: null, store: null, originalTransactionId: null };

/**
 * Locks the accounts that the events name, then the purchases that they are about and that exist, in the order of their
 * keys. The events are inserted after that, then the purchases that are new, both in the order of their keys. The condition
 * on the count makes PostgreSQL lock the accounts first. Purchases and events are looked up one by one: PostgreSQL would
 * read whole tables to join them before it has statistics.
 */
async function lockRelated(
  tx: Tx,
  newEvents: readonly NewEvent[],
  decisions: (NewDecision | null)[],
): Promise<Related> {
  const given = newEvents.map(({ provider, eventId, event: { transactionId, originalTransactionId } }, n) => {
    const decision = decisions[n];
    const { environment, store, originalTransactionId: purchase } = decision?.kind === "attach" ? decision.key : NO_KEY;
    return { n, provider, eventId, transactionId, originalTransactionId, environment, store, purchase };
  });
  const accountIds = newEvents.flatMap(({ event }) => ownerAccountIds(event));
  const [found] = await tx.$queryRaw<[Related & { purchases: unknown[] }]>`
    WITH account AS MATERIALIZED (
      SELECT id FROM "Account" WHERE id = ANY(${[...new Set(accountIds)]}::uuid[]) ORDER BY id FOR KEY SHARE
    ), given AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(given)}::jsonb) AS given (n integer, provider text,
        "eventId" text, "transactionId" text, "originalTransactionId" text, environment text, store text, purchase text)
    ), purchase AS MATERIALIZED (
      SELECT * FROM "Purchase" WHERE id = ANY(ARRAY(
          SELECT (
            SELECT id FROM "Purchase" AS one
            WHERE one.provider = given.provider AND one.environment = given.environment AND one.store = given.store
              AND one."originalTransactionId" = given.purchase)
          FROM given))
        AND (SELECT count(*) FROM account) >= 0
      ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE
    )
    SELECT ARRAY(SELECT id::text FROM account) AS "accountIds",
      (SELECT coalesce(jsonb_agg(purchase), '[]') FROM purchase) AS purchases,
      ARRAY(
        SELECT (
          SELECT state::text FROM "BillingEvent" AS stored
          WHERE stored.provider = given.provider AND stored."eventId" = given."eventId")
        FROM given ORDER BY n
      ) AS states,
      ARRAY(
        SELECT
          EXISTS (
            SELECT 1 FROM "BillingEvent" AS sibling
            WHERE sibling."transactionId" = given."transactionId" AND sibling.provider IS NOT DISTINCT FROM given.provider
              AND COALESCE(sibling.environment, 'UNKNOWN') = given.environment
              AND COALESCE(sibling.store, 'UNKNOWN') = given.store
              AND sibling."originalTransactionId" <> given."originalTransactionId")
          OR EXISTS (
            SELECT 1 FROM "Purchase" AS other
            WHERE other.provider = given.provider AND other.environment = given.environment
              AND other.store = given.store AND other."originalTransactionId" = given."transactionId"
              AND given."transactionId" <> given."originalTransactionId")
        FROM given ORDER BY n
      ) AS "haveSiblings"`;
  return { ...found, purchases: found.purchases.map((purchase) => StoredPurchase.parse(purchase)) };
}

/**
 * Folds the events into their purchases, and writes both in one statement. It fails if another transaction has stored one
 * of the events meanwhile, by the unique key, or created a purchase, by the events' foreign key. Returns what each event
 * changed.
 */
async function writeApplied(
  tx: Tx,
  candidates: readonly Candidate[],
  stored: readonly StoredPurchase[],
  at: Date,
): Promise<Map<ParsedEvent, Refolded>> {
  if (candidates.length === 0) return new Map();
  const purchases = groupByPurchase(candidates, stored);
  const events = candidates.map(({ decision }) => decision.event);
  const refolded = await foldPurchases(tx, purchases, events);
  const changes = new Map<ParsedEvent, Refolded>();
  for (const [i, { newEvents }] of purchases.entries()) {
    for (const [j, event] of newEvents.entries()) changes.set(event, refolded[i]?.[j] as Refolded);
  }
  const applied = candidates.map((candidate) => toApplied(candidate, changes));
  const count = await tx.$executeRaw`
    WITH purchase AS (${purchaseUpsert(refolded, at)}) ${appliedEventsInsert(applied, at)}`;
  if (count < applied.length) throw new Error("the database did not insert every event"); // it must not be acknowledged
  return changes;
}

function groupByPurchase(candidates: readonly Candidate[], stored: readonly StoredPurchase[]): PurchaseToFold[] {
  const existing = new Map(stored.map((purchase) => [nameOf(purchase), purchase]));
  const toFold = new Map<string, PurchaseToFold>();
  for (const { decision } of candidates) {
    if (decision.kind !== "attach") continue;
    const { event, key } = decision;
    const name = nameOf(key);
    const known = toFold.get(name);
    if (known) known.newEvents.push(event);
    else toFold.set(name, { before: existing.get(name) ?? newPurchase(key, event), newEvents: [event] });
  }
  return [...toFold.values()];
}

const nameOf = ({ provider, environment, store, originalTransactionId }: PurchaseKey) =>
  JSON.stringify([provider, environment, store, originalTransactionId]);

function toApplied({ newEvent, accountIds, decision }: Candidate, changes: Map<ParsedEvent, Refolded>): AppliedEvent {
  const { event } = decision;
  const common = { newEvent, accountIds, id: event.id };
  if (decision.kind === "reject") {
    return { ...common, purchaseId: null, state: decision.state, reason: decision.reason };
  }
  const purchaseId = changes.get(event)?.after.id ?? null;
  return { ...common, purchaseId, state: "processed", reason: null };
}
