import type { Context } from "../context";
import { newId } from "../platform/db/ids";
import type { WebhookRecorder } from "../webhooks/outbox";
import { possibleAccountIds } from "./app-user-ids";
import { type BillingRules, type StatusRules, statusRules } from "./entitlement-rules";
import type { EventFacts, PurchaseEvent } from "./events";
import { applySnapshot } from "./fold/apply-snapshot";
import { foldPurchase } from "./fold/fold-purchase";
import { applyEvent } from "./inbox/inbox";
import { storeEvent } from "./inbox/store";
import { revenueCat } from "./providers/revenuecat";
import { readCustomer, type SnapshotEvent } from "./providers/revenuecat-customer";
import type { Purchase, StoredPurchase } from "./purchase-state";
import { isRenewalOverdue, purchaseStatus } from "./status/purchase-status";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
  billing: NonNullable<Context["billing"]>;
};

/**
 * The number of purchases in the provider's response, and of those corrected. `retryAfterSeconds` is set if a purchase
 * is past its expiry and may still be renewed: the customer should be reconciled again then.
 */
export type Reconciled = { known: number; corrected: number; retryAfterSeconds?: number };

const MAX_RETRY_AFTER_SECONDS = 15 * 60;

/**
 * Compares a customer's purchases with the provider's API, and corrects those that differ. A correction is an event of
 * type SNAPSHOT, which is stored and folded as deliveries are.
 * @throws Error if the API does not respond as documented
 */
export async function reconcileCustomer(deps: Deps, appUserId: string): Promise<Reconciled> {
  const requestedAt = deps.now(); // events during the request are newer than its response
  const snapshots = readCustomer(await deps.billing.getCustomer(appUserId), appUserId, requestedAt);
  const result: Reconciled = { known: snapshots.length, corrected: 0 };
  for (const seen of snapshots) {
    for (const { purchase, snapshot, secondsLeft } of await placeSnapshot(deps, seen, requestedAt)) {
      if (secondsLeft) {
        result.retryAfterSeconds = Math.min(secondsLeft, result.retryAfterSeconds ?? MAX_RETRY_AFTER_SECONDS);
      }
      if (purchase && isUpToDate(deps.config, purchase, snapshot, requestedAt)) continue;
      if (await applyCorrection(deps, snapshot, requestedAt)) result.corrected += 1;
    }
  }
  return result;
}

/**
 * Gives a snapshot its place among the events of each purchase that it is about, and its end, if no renewal can follow.
 * Returns nothing for a purchase whose current period the API does not show yet. See `secondsUntilExpired`.
 */
export async function placeSnapshot(
  deps: Pick<Context, "db"> & { config: BillingRules },
  seen: SnapshotEvent,
  at: Date,
): Promise<{ purchase: StoredPurchase | null; snapshot: SnapshotEvent; secondsLeft: number | null }[]> {
  const purchases = await findPurchases(deps, seen);
  return purchases.flatMap((purchase) => {
    const placed = purchase ? placeInPurchase(purchase, seen) : seen;
    if (!placed) return [];
    const secondsLeft = secondsUntilExpired(deps.config, purchase, placed, at);
    return { purchase, snapshot: secondsLeft === 0 ? withEnd(placed) : placed, secondsLeft };
  });
}

/**
 * Finds the purchases that a snapshot is about: by its transaction, else the customer's newest of the same product and
 * kind. On Google Play the transaction id contains the original's, so that no other purchase is meant. [null]: none is
 * stored.
 */
async function findPurchases({ db }: Pick<Deps, "db">, snapshot: SnapshotEvent): Promise<(StoredPurchase | null)[]> {
  const { store, transactionId, originalTransactionId, appUserIds, facts } = snapshot;
  const place = { provider: revenueCat.name, store, environment: snapshot.environment ?? "UNKNOWN" };
  const isOfOriginal = { originalTransactionId: originalTransactionId ?? transactionId };
  const byTransaction = await db.purchase.findMany({
    where: { ...place, OR: [isOfOriginal, { events: { some: { transactionId } } }] },
  });
  if (byTransaction.length > 0) return byTransaction;
  if (store === "PLAY_STORE") return [null];
  const newest = await db.purchase.findFirst({
    where: { ...place, productId: facts.productId, appUserIds: { hasSome: appUserIds }, ...kindOf(facts) },
    orderBy: { currentPeriodEndsAt: { sort: "desc", nulls: "last" } },
  });
  return [newest];
}

/** Which purchases a snapshot can be of. A one-time purchase after the end of another is a new one. */
function kindOf({ periodType, purchasedAt }: EventFacts) {
  if (periodType !== null) return { periodType: { not: null } };
  return { periodType: null, OR: [{ endedAt: null }, ...(purchasedAt ? [{ endedAt: { gt: purchasedAt } }] : [])] };
}

/**
 * Gives a snapshot its place among a purchase's events; null if the API does not show the purchase's current period yet.
 * The API's times are in whole seconds, and must not sort before the purchase itself.
 */
function placeInPurchase({ originalTransactionId, currentPeriodStartsAt: start }: StoredPurchase, seen: SnapshotEvent) {
  const { purchasedAt } = seen.facts;
  if (!start || !purchasedAt || purchasedAt >= start) return { ...seen, originalTransactionId };
  if (toSeconds(purchasedAt) < toSeconds(start)) return null;
  return { ...seen, originalTransactionId, facts: { ...seen.facts, purchasedAt: start } };
}

/**
 * Returns how long a purchase past its expiry may still turn out to be renewed, since the provider learns of a renewal
 * some time after the expiry: 0 if no renewal is due or the leeway is over, null if the purchase has not expired.
 */
function secondsUntilExpired(config: BillingRules, purchase: StoredPurchase | null, seen: SnapshotEvent, at: Date) {
  const { expiresAt, resumesAt, snapshot } = seen.facts;
  if (expiresAt === null || expiresAt > at || snapshot?.billingIssueDetectedAt || resumesAt) return null;
  if (!isRenewalOverdue(correctedPurchase(purchase, seen), at)) return 0;
  const elapsedSeconds = (at.getTime() - expiresAt.getTime()) / 1000;
  return Math.max(Math.ceil(config.BILLING_STALE_LEEWAY_SECONDS - elapsedSeconds), 0);
}

function withEnd(seen: SnapshotEvent): SnapshotEvent {
  const { facts } = seen;
  const snapshot = facts.snapshot && { ...facts.snapshot, endedAt: facts.expiresAt };
  return { ...seen, facts: { ...facts, snapshot } };
}

function correctedPurchase(purchase: StoredPurchase | null, { store, environment, facts }: SnapshotEvent): Purchase {
  const event: PurchaseEvent = { id: "", type: "SNAPSHOT", ...facts };
  if (purchase) return { ...purchase, ...applySnapshot(purchase, event) };
  const key = { id: newId(), provider: revenueCat.name, store, environment: environment ?? "UNKNOWN" };
  return { ...key, ...foldPurchase([event]) };
}

/** Whether the snapshot would change nothing that the owner sees, now or later. */
function isUpToDate(config: BillingRules, purchase: StoredPurchase, snapshot: SnapshotEvent, at: Date): boolean {
  if (!snapshot.appUserIds.every((id) => purchase.appUserIds.includes(id))) return false;
  const differences = findDifferences(config, purchase, correctedPurchase(purchase, snapshot), at);
  return differences.length === 0;
}

/** What a change of a purchase changes that the owner sees, now or later. */
export function findDifferences(
  config: BillingRules,
  before: Purchase & Pick<StoredPurchase, "accountId">,
  after: Purchase,
  at: Date,
): { field: string; before: unknown; after: unknown }[] {
  const rules = statusRules(config, before.accountId ?? "", false); // the same for both
  const [earlier, later] = [visibleState(before, at, rules), visibleState(after, at, rules)];
  return Object.entries(later).flatMap(([field, value]) => {
    const known = earlier[field as keyof typeof earlier];
    return JSON.stringify(known) === JSON.stringify(value) ? [] : { field, before: known, after: value };
  });
}

function visibleState(purchase: Purchase, at: Date, rules: StatusRules) {
  const seen = purchaseStatus(purchase, at, rules);
  const { status, willRenew, isLifetime, productId, periodType, entitlements } = seen;
  return {
    status,
    willRenew,
    isLifetime,
    productId,
    periodType,
    entitlements: entitlements.map(({ id }) => id).toSorted(),
    currentPeriodEndsAt: toWholeSeconds(seen.currentPeriodEndsAt),
    accessEndsAt: toWholeSeconds(seen.accessEndsAt),
    gracePeriodEndsAt: toWholeSeconds(seen.gracePeriodEndsAt),
    resumesAt: toWholeSeconds(seen.resumesAt),
    isRenewalOverdue: isRenewalOverdue(purchase, at), // the owner is notified of its end
  };
}

const toWholeSeconds = (time: Date | null) => time && new Date(toSeconds(time) * 1000);

async function applyCorrection(deps: Deps, snapshot: SnapshotEvent, receivedAt: Date): Promise<boolean> {
  const eventId = `snapshot:${snapshot.store}:${snapshot.originalTransactionId}:${receivedAt.getTime()}`;
  const key = { provider: revenueCat.name, eventId };
  await storeEvent(deps, { ...key, event: snapshot, payload: null, receivedAt });
  const { status } = await applyEvent(deps, { ...key, accountIds: possibleAccountIds(snapshot.appUserIds) });
  return status === "processed";
}

const toSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
