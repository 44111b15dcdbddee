import type { Context, Tx } from "../../context";
import { withRetry } from "../../db/with-retry";
import { isAppError, isDatabaseUnavailable } from "../../errors";
import { toStorableText } from "../../storable-text";
import type { BillingRules } from "../entitlement-rules";
import { EventFacts, IdentityEventType, PurchaseEventType } from "../events";
import { notifyOwner } from "../notify-owner";
import { customersToReconcile, scheduleReconcile } from "../reconcile/schedule";
import type { DeliveryReceipt } from "../schema";
import { findConnectedCustomers } from "./customers";
import { type EventKey, type LockedEvent, lockEvent } from "./lock-event";
import { attachEvent, detachEvent, lockPurchases, mergePurchase, type Refolded, refoldPurchase } from "./purchases";
import { updateOwners } from "./update-owners";

/** The outcome of an event, and the App User IDs of the customers to reconcile because of it. */
export type Applied = { status: DeliveryReceipt["status"]; toReconcile: string[] };
type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & { config: BillingRules };

const MAX_REASON_LENGTH = 500;

/** `isReplay`: apply the event even if it is processed. `timeoutMs` replaces the default time-out of a transaction. */
type Options = { isReplay?: boolean; timeoutMs?: number };

/**
 * Applies a stored event to its purchase, unless it is processed already. An event that cannot be applied is marked
 * failed, with the reason, for an operator to replay. `accountIds` are the accounts that it may be linked to.
 * @throws AppError unavailable if the event is not stored, and the database's error if it is not available
 */
export async function applyEvent(
  deps: Deps,
  key: EventKey,
  accountIds: string[],
  options: Options = {},
): Promise<Applied> {
  const applied = await applyOrMarkFailed(deps, key, accountIds, options);
  await updateOwners(deps, key); // after a duplicate too: the process may have been killed before this step
  return applied;
}

async function applyOrMarkFailed(
  deps: Deps,
  key: EventKey,
  accountIds: string[],
  { isReplay = false, timeoutMs: timeout }: Options,
): Promise<Applied> {
  const { db, log } = deps;
  try {
    return await withRetry(() =>
      db.$transaction((tx) => applyInTransaction(deps, tx, key, accountIds, isReplay), { timeout }),
    );
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    log.error({ err: error, eventId: key.eventId }, "a billing event failed");
    const where = { ...key, state: { not: "processed" as const } };
    const { count } = await db.billingEvent.updateMany({ where, data: { state: "failed", reason: reasonOf(error) } });
    return { status: count > 0 || isReplay ? "failed" : "duplicate", toReconcile: [] };
  }
}

/** The last paragraph of an error: Prisma's messages begin with an excerpt of the code. */
function reasonOf(error: unknown): string {
  const paragraphs = String(error).split(/\n{2,}/);
  return toStorableText((paragraphs.at(-1) ?? "").trim().slice(0, MAX_REASON_LENGTH));
}

async function applyInTransaction(
  deps: Deps,
  tx: Tx,
  key: EventKey,
  accountIds: string[],
  isReplay: boolean,
): Promise<Applied> {
  const event = await lockEvent(tx, key, accountIds);
  if (event.state === "processed" && !isReplay) return { status: "duplicate", toReconcile: [] };
  const facts = EventFacts.parse(event.facts);
  const at = deps.now();
  const rejection = rejectionOf(event, facts);
  if (rejection) {
    await tx.billingEvent.updateMany({ where: { id: event.id }, data: { ...rejection, purchaseId: null } });
    if (event.purchaseId) await detachEvent(tx, event.purchaseId, at);
    return { status: rejection.state, toReconcile: [] };
  }
  const purchases = facts.identityChange ? await changeOwners(tx, event, at) : [await applyToPurchase(tx, event, at)];
  if (event.state === "processed") return { status: "processed", toReconcile: [] };
  for (const purchase of purchases) await notifyOwner(tx, deps, { ...key, ...facts, type: event.type }, purchase);
  const toReconcile = deps.billing ? await customersToReconcile(tx, event, facts, purchases) : [];
  await scheduleReconcile(tx, deps.dbNow, toReconcile);
  return { status: "processed", toReconcile };
}

type Rejection = { state: "ignored" | "failed"; reason: string };

/** Returns why an event changes no purchase; null if it does. */
function rejectionOf(event: LockedEvent, { expiresAt, identityChange, snapshot }: EventFacts): Rejection | null {
  if (identityChange === "transfer") {
    const hasBothSides = event.transferredFrom.length > 0 && event.appUserIds.length > event.transferredFrom.length;
    return hasBothSides ? null : { state: "failed", reason: "transfer_names_nobody" };
  }
  if (identityChange === "alias") return null;
  if (IdentityEventType.safeParse(event.type).success) return { state: "ignored", reason: "nothing_to_change" };
  const type = PurchaseEventType.safeParse(event.type).data;
  // A delivery of type SNAPSHOT is not the provider's API response, and would reset the purchase.
  if (!type || (type === "SNAPSHOT" && !snapshot)) return { state: "ignored", reason: "type_not_applied" };
  if (type === "TEMPORARY_ENTITLEMENT_GRANT") {
    return expiresAt ? null : { state: "ignored", reason: "grant_without_end" };
  }
  return event.originalTransactionId ? null : { state: "failed", reason: "transaction_not_named" };
}

async function applyToPurchase(tx: Tx, event: LockedEvent, at: Date): Promise<Refolded> {
  const { provider, environment, store, purchaseId, renewalPurchaseId, siblingOriginalTransactionId } = event;
  // Only a temporary grant may have no transaction. It is then a purchase of its own.
  const originalTransactionId = siblingOriginalTransactionId ?? event.originalTransactionId ?? `grant:${event.eventId}`;
  // A purchase without an environment is separate, and never counts as production.
  const key = { provider, environment: environment ?? "UNKNOWN", store: store ?? "UNKNOWN", originalTransactionId };
  const purchase = await attachEvent(tx, event.id, key, at);
  if (renewalPurchaseId) await mergePurchase(tx, purchase, renewalPurchaseId);
  if (purchaseId && purchaseId !== purchase.id) await detachEvent(tx, purchaseId, at);
  return refoldPurchase(tx, purchase, at);
}

/**
 * Updates the owners of all purchases of the customers in a transfer or an alias. Locks the customers' events first: an
 * event that is being applied has its purchase once the lock is granted.
 */
async function changeOwners(tx: Tx, event: LockedEvent, at: Date): Promise<Refolded[]> {
  await tx.$executeRaw`
    UPDATE "BillingEvent" SET state = 'processed', "processedAt" = ${at}::timestamptz,
      reason = CASE WHEN state IN ('failed', 'ignored') THEN NULL ELSE reason END
    WHERE id = ${event.id}::uuid`;
  const { appUserIds } = await findConnectedCustomers(tx, event.provider, event.appUserIds);
  const rows = await tx.$queryRaw<{ purchaseId: string | null }[]>`
    SELECT "purchaseId" FROM "BillingEvent"
    WHERE provider = ${event.provider} AND "appUserIds" && ${appUserIds}::text[]
      AND type NOT IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED')
    ORDER BY id FOR UPDATE`;
  const purchaseIds = new Set(rows.flatMap(({ purchaseId }) => purchaseId ?? []));
  const refolded: Refolded[] = [];
  for (const purchase of await lockPurchases(tx, [...purchaseIds])) {
    refolded.push(await refoldPurchase(tx, purchase, at));
  }
  return refolded;
}
