import type { Context, Tx } from "../../context";
import { withRetry } from "../../db/with-retry";
import { AppError, isAppError, isDatabaseUnavailable } from "../../errors";
import { toStorableText } from "../../text";
import { EventFacts, IdentityEventType, PurchaseEventType } from "../events";
import { notifyOwner } from "../notices";
import { doubtfulCustomers, scheduleReconcile } from "../reconcile/schedule";
import type { BillingRules } from "../rules";
import type { DeliveryReceipt } from "../schema";
import { connectedPeople } from "./identity-changes";
import { linkAliases } from "./link";
import { attachEvent, detachEvent, lockPurchases, mergePurchase, type Refolded, refoldPurchase } from "./purchases";

export type EventKey = { provider: string; eventId: string };
/** What became of an event, and the customers that the provider is asked about for it. */
export type Applied = { status: DeliveryReceipt["status"]; toReconcile: string[] };
type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & { config: BillingRules };

type StoredEvent = EventKey & {
  id: string;
  state: "received" | "processed" | "ignored" | "failed";
  type: string;
  environment: string | null;
  store: string | null;
  originalTransactionId: string | null;
  appUserId: string | null;
  appUserIds: string[];
  transferredFrom: string[];
  facts: unknown;
  purchaseId: string | null;
  /** A purchase that was opened by this very renewal, before its first purchase was known. */
  openedPurchaseId: string | null;
  /** The first purchase as another event of this transaction names it, where this one does not. */
  namedElsewhere: string | null;
};

const REASON_LENGTH = 500;

/** `anew`: even where it is processed already. `timeoutMs`: how long the transaction may take, if not as long as any. */
type Options = { anew?: boolean; timeoutMs?: number };

/**
 * Applies a stored event unless it is processed already. What fails twice would fail for ever: it is kept as failed,
 * with its reason, for an operator to replay. `accountIds` are those it may be linked to.
 * @throws AppError unavailable where the event cannot be seen; what says that the database is out of reach
 */
export async function applyEvent(
  deps: Deps,
  key: EventKey,
  accountIds: string[],
  options: Options = {},
): Promise<Applied> {
  const applied = await applyOrFail(deps, key, accountIds, options);
  await linkAliases(deps, key); // of a duplicate, too: the process may have ended before it could
  return applied;
}

async function applyOrFail(
  deps: Deps,
  key: EventKey,
  accountIds: string[],
  { anew = false, timeoutMs: timeout }: Options,
): Promise<Applied> {
  const { db, log } = deps;
  try {
    return await withRetry(() => db.$transaction((tx) => applyInside(deps, tx, key, accountIds, anew), { timeout }));
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    log.error({ err: error, eventId: key.eventId }, "a billing event cannot be applied");
    const said =
      String(error)
        .split(/\n{2,}/)
        .at(-1) ?? ""; // Prisma shows the code first, and then what is wrong
    const reason = toStorableText(said.trim().slice(0, REASON_LENGTH));
    const where = { ...key, state: { not: "processed" as const } };
    const { count } = await db.billingEvent.updateMany({ where, data: { state: "failed", reason } });
    return { status: count > 0 || anew ? "failed" : "duplicate", toReconcile: [] };
  }
}

async function applyInside(deps: Deps, tx: Tx, key: EventKey, accountIds: string[], anew: boolean): Promise<Applied> {
  const event = await lockEvent(tx, key, accountIds);
  if (event.state === "processed" && !anew) return { status: "duplicate", toReconcile: [] };
  const facts = EventFacts.parse(event.facts);
  const objection = objectionTo(event, facts);
  if (objection) {
    await tx.billingEvent.updateMany({ where: { id: event.id }, data: { ...objection, purchaseId: null } });
    if (event.purchaseId) await detachEvent(tx, event.purchaseId, deps.now()); // it was read otherwise when it was applied
    return { status: objection.state, toReconcile: [] };
  }
  const at = deps.now();
  const purchases = facts.identityChange
    ? await applyIdentityChange(tx, event, at)
    : [await applyToPurchase(tx, event, at)];
  if (event.state === "processed") return { status: "processed", toReconcile: [] };
  for (const purchase of purchases) await notifyOwner(tx, deps, { ...key, ...facts, type: event.type }, purchase);
  const toReconcile = deps.billing ? await doubtfulCustomers(tx, event, facts, purchases) : [];
  await scheduleReconcile(tx, deps.dbNow, toReconcile);
  return { status: "processed", toReconcile };
}

/**
 * Whoever else delivers this event at the same time waits here, and finds it processed. Accounts are locked before
 * events (the count is what makes it so), events by id, and events before purchases, as in deleting an account: no circle
 * of waiting. With an event that names its first purchase goes one of its transaction that names none, while that is
 * being applied: once its purchase is there, the event is read again (`alone`), and takes the purchase over.
 */
async function lockEvent(tx: Tx, key: EventKey, accountIds: string[], alone = false): Promise<StoredEvent> {
  const { provider, eventId } = key;
  const rows = await tx.$queryRaw<StoredEvent[]>`
    WITH account AS MATERIALIZED (SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]) FOR KEY SHARE),
    wanted AS MATERIALIZED (
      SELECT id FROM "BillingEvent" WHERE provider = ${provider} AND "eventId" = ${eventId}
      UNION
      SELECT opening.id FROM "BillingEvent" AS own
      JOIN "BillingEvent" AS opening ON opening."transactionId" = own."transactionId" AND opening.provider = own.provider
      WHERE own.provider = ${provider} AND own."eventId" = ${eventId} AND NOT ${alone}
        AND own."transactionId" <> own."originalTransactionId"
        AND opening."transactionId" = opening."originalTransactionId" AND opening.state = 'received'
        AND 'TRANSFER' NOT IN (own.type, opening.type) AND 'SUBSCRIBER_ALIAS' NOT IN (own.type, opening.type)
        AND 'PURCHASE_REDEEMED' NOT IN (own.type, opening.type)
    )
    SELECT id, provider, "eventId", state::text, type, environment, store, "originalTransactionId",
      "appUserId", "appUserIds", "transferredFrom", facts, "purchaseId",
      (SELECT purchase.id FROM "Purchase" AS purchase
        WHERE purchase.provider = event.provider AND purchase.environment = COALESCE(event.environment, 'UNKNOWN')
          AND purchase.store = COALESCE(event.store, 'UNKNOWN')
          AND purchase."originalTransactionId" = event."transactionId"
          AND event."transactionId" <> event."originalTransactionId") AS "openedPurchaseId",
      (SELECT other."originalTransactionId" FROM "BillingEvent" AS other
        WHERE event."originalTransactionId" = event."transactionId" AND other."transactionId" = event."transactionId"
          AND other.provider = event.provider AND other.environment IS NOT DISTINCT FROM event.environment
          AND other.store IS NOT DISTINCT FROM event.store
          AND other."originalTransactionId" <> event."transactionId" AND other.state IN ('received', 'processed')
        ORDER BY other."receivedAt", other.id LIMIT 1) AS "namedElsewhere"
    FROM "BillingEvent" AS event
    WHERE id = ANY(ARRAY(SELECT id FROM wanted)) AND (SELECT count(*) FROM account) >= 0
    ORDER BY id FOR UPDATE OF event`;
  if (rows.length > 1) return lockEvent(tx, key, accountIds, true);
  const [row] = rows;
  if (!row) throw new AppError("unavailable"); // it was not stored, whatever the database said: deliver it again
  return row;
}

type Objection = { state: "ignored" | "failed"; reason: string };

/** Why an event changes nothing; null where it does. */
function objectionTo(event: StoredEvent, { expiresAt, identityChange, snapshot }: EventFacts): Objection | null {
  if (identityChange === "transfer") {
    const isNamed = event.transferredFrom.length > 0 && event.appUserIds.length > event.transferredFrom.length;
    return isNamed ? null : { state: "failed", reason: "transfer_names_nobody" };
  }
  if (identityChange === "alias") return null;
  if (IdentityEventType.safeParse(event.type).success) return { state: "ignored", reason: "nothing_to_change" };
  const type = PurchaseEventType.safeParse(event.type).data;
  const isDelivered = type !== "SNAPSHOT" || snapshot !== null; // ours alone: a sender's would clear what is known
  if (!type || !isDelivered) return { state: "ignored", reason: "type_not_applied" };
  if (isGrant(event)) return expiresAt ? null : { state: "ignored", reason: "grant_without_end" };
  return event.originalTransactionId ? null : { state: "failed", reason: "transaction_not_named" };
}

async function applyToPurchase(tx: Tx, event: StoredEvent, at: Date): Promise<Refolded> {
  const { provider, environment, store, purchaseId, openedPurchaseId, namedElsewhere } = event;
  // Only a temporary grant may name no transaction: it is then a purchase of its own.
  const originalTransactionId = namedElsewhere ?? event.originalTransactionId ?? `grant:${event.eventId}`;
  // Store and environment are missing in some deliveries; such purchases stand apart, and never count as production.
  const key = { provider, environment: environment ?? "UNKNOWN", store: store ?? "UNKNOWN", originalTransactionId };
  const purchase = await attachEvent(tx, event.id, key, at);
  if (openedPurchaseId) await mergePurchase(tx, purchase, openedPurchaseId);
  if (purchaseId && purchaseId !== purchase.id) await detachEvent(tx, purchaseId, at);
  return refoldPurchase(tx, purchase, at);
}

/**
 * Settles anew whose the purchases are of everybody that a transfer or an alias concerns. Their events are locked first:
 * one that is being applied at this moment has its purchase, and is seen, once its lock is free.
 */
async function applyIdentityChange(tx: Tx, event: StoredEvent, at: Date): Promise<Refolded[]> {
  await tx.$executeRaw`
    UPDATE "BillingEvent" SET state = 'processed', "processedAt" = ${at}::timestamptz,
      reason = CASE WHEN state IN ('failed', 'ignored') THEN NULL ELSE reason END
    WHERE id = ${event.id}::uuid`;
  const { names } = await connectedPeople(tx, event.provider, event.appUserIds);
  const rows = await tx.$queryRaw<{ purchaseId: string | null }[]>`
    SELECT "purchaseId" FROM "BillingEvent"
    WHERE provider = ${event.provider} AND "appUserIds" && ${names}::text[]
      AND type NOT IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED')
    ORDER BY id FOR UPDATE`;
  const purchaseIds = new Set(rows.flatMap(({ purchaseId }) => purchaseId ?? []));
  const refolded: Refolded[] = [];
  for (const purchase of await lockPurchases(tx, [...purchaseIds]))
    refolded.push(await refoldPurchase(tx, purchase, at));
  return refolded;
}

const isGrant = ({ type }: { type: string }) => type === "TEMPORARY_ENTITLEMENT_GRANT";
