import type { Context } from "../../context";
import { possibleAccountIds } from "../app-user-ids";
import type { PurchaseEvent } from "../events";
import { foldPurchase } from "../fold/fold-purchase";
import { takeSnapshot } from "../fold/snapshot";
import { applyEvent } from "../inbox/apply";
import { storeEvent } from "../inbox/store";
import { revenueCat } from "../providers/revenuecat";
import { readCustomer, type Snapshot } from "../providers/revenuecat-customer";
import type { Purchase, StoredPurchase } from "../purchase-state";
import { type BillingRules, statusRules } from "../rules";
import { isOverdue, purchaseStatus } from "../status";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now"> & {
  config: BillingRules;
  billing: NonNullable<Context["billing"]>;
};

/**
 * How many purchases the provider knows of a customer, and on how many of them it knew better. `againInSeconds`: when to
 * ask again, since one of them is past its expiry and the leeway for a late renewal is not over.
 */
export type Reconciled = { known: number; corrected: number; againInSeconds?: number };

/** The longest that the provider is left alone before it is asked again about a renewal that it may not know yet. */
const MAX_AGAIN_SECONDS = 15 * 60;

/**
 * Asks the provider about one of its customers and puts right what it sees otherwise: each correction is an event
 * of the inbox, folded like any other.
 * @throws Error where it does not answer as it should
 */
export async function reconcileCustomer(deps: Deps, name: string): Promise<Reconciled> {
  const askedAt = deps.now(); // what happens while the answer is on its way comes after it
  const answer = await deps.billing.getCustomer(name);
  const snapshots = readCustomer(answer, name, askedAt);
  let corrected = 0;
  const waits: number[] = [];
  for (const seen of snapshots) {
    for (const purchase of await purchasesOf(deps, seen)) {
      const placed = purchase ? onPurchase(purchase, seen) : seen;
      if (!placed) continue;
      const secondsLeft = secondsUntilEnd(deps.config, purchase, placed, askedAt);
      if (secondsLeft) waits.push(Math.min(secondsLeft, MAX_AGAIN_SECONDS));
      const snapshot = secondsLeft === 0 ? withEnd(placed) : placed;
      if (purchase && agrees(deps.config, purchase, snapshot, askedAt)) continue;
      if (await correct(deps, snapshot, askedAt)) corrected += 1;
    }
  }
  const againInSeconds = waits.length > 0 ? Math.min(...waits) : undefined;
  return { known: snapshots.length, corrected, againInSeconds };
}

/**
 * The purchases that a purchase is on: by its transaction, else the customer's newest of the same product. Google's
 * transactions say themselves which purchase they are of. [null]: a purchase that no event ever told of.
 */
async function purchasesOf({ db }: Deps, snapshot: Snapshot): Promise<(StoredPurchase | null)[]> {
  const { store, transactionId, originalTransactionId, appUserIds, facts } = snapshot;
  const place = { provider: revenueCat.name, store, environment: snapshot.environment ?? "UNKNOWN" };
  const byTransaction = await db.purchase.findMany({
    where: {
      ...place,
      OR: [{ originalTransactionId: originalTransactionId ?? transactionId }, { events: { some: { transactionId } } }],
    },
  });
  if (byTransaction.length > 0 || store === "PLAY_STORE") return byTransaction.length > 0 ? byTransaction : [null];
  const newest = await db.purchase.findFirst({
    where: { ...place, productId: facts.productId, appUserIds: { hasSome: appUserIds } },
    orderBy: { currentPeriodEndsAt: { sort: "desc", nulls: "last" } },
  });
  return [newest];
}

/**
 * A snapshot in its place among a purchase's events; null where the provider has not heard yet of the period that the
 * purchase is in. The API's times have no fractions of a second, and must not sort before the purchase itself for that.
 */
function onPurchase({ originalTransactionId, currentPeriodStartsAt: start }: StoredPurchase, seen: Snapshot) {
  const { purchasedAt } = seen.facts;
  if (!start || !purchasedAt || purchasedAt >= start) return { ...seen, originalTransactionId };
  if (inSeconds(purchasedAt) < inSeconds(start)) return null;
  return { ...seen, originalTransactionId, facts: { ...seen.facts, purchasedAt: start } };
}

/**
 * How long a purchase that is past its expiry may still turn out to go on: 0 where no renewal is due, or the leeway is
 * over. The store may renew, and the provider hear of it, some time after the expiry. null: its end has not come.
 */
function secondsUntilEnd(
  config: BillingRules,
  purchase: StoredPurchase | null,
  seen: Snapshot,
  at: Date,
): number | null {
  const { expiresAt, resumesAt, snapshot } = seen.facts;
  if (expiresAt === null || expiresAt > at || snapshot?.billingIssueDetectedAt || resumesAt) return null;
  if (!isOverdue(after(purchase, seen), at)) return 0;
  const agoSeconds = (at.getTime() - expiresAt.getTime()) / 1000;
  return Math.max(Math.ceil(config.BILLING_STALE_LEEWAY_SECONDS - agoSeconds), 0);
}

/** A snapshot that says that the purchase is over. */
function withEnd(seen: Snapshot): Snapshot {
  const { facts } = seen;
  const snapshot = facts.snapshot && { ...facts.snapshot, endedAt: facts.expiresAt };
  return { ...seen, facts: { ...facts, snapshot } };
}

/** A purchase as a snapshot would leave it. */
function after(purchase: StoredPurchase | null, { store, environment, facts }: Snapshot): Purchase {
  const event: PurchaseEvent = { id: "", type: "SNAPSHOT", ...facts };
  if (purchase) return { ...purchase, ...takeSnapshot(purchase, event) };
  return { store, environment: environment ?? "UNKNOWN", ...foldPurchase([event]) };
}

/** Whether the owner would see no difference, now or later, if the purchase were as the provider sees it. */
function agrees(config: BillingRules, purchase: StoredPurchase, snapshot: Snapshot, at: Date): boolean {
  if (!snapshot.appUserIds.every((name) => purchase.appUserIds.includes(name))) return false;
  const corrected = after(purchase, snapshot);
  if (isOverdue(purchase, at) !== isOverdue(corrected, at)) return false; // it has ended, and its owner is told
  return visible(config, purchase, purchase.accountId, at) === visible(config, corrected, purchase.accountId, at);
}

function visible(config: BillingRules, purchase: Purchase, accountId: string | null, at: Date): string {
  const seen = purchaseStatus(purchase, at, statusRules(config, accountId ?? ""));
  const { status, willRenew, isLifetime, productId, periodType, entitlements } = seen;
  const { currentPeriodEndsAt, accessEndsAt, gracePeriodEndsAt, resumesAt } = seen;
  const times = [currentPeriodEndsAt, accessEndsAt, gracePeriodEndsAt, resumesAt].map(
    (time) => time && inSeconds(time),
  );
  const ids = entitlements.map(({ id }) => id).toSorted();
  return JSON.stringify([status, willRenew, isLifetime, productId, periodType, ids, times]);
}

/** Returns whether the snapshot was applied. */
async function correct(deps: Deps, snapshot: Snapshot, receivedAt: Date): Promise<boolean> {
  const eventId = `snapshot:${snapshot.store}:${snapshot.originalTransactionId}:${receivedAt.getTime()}`;
  const key = { provider: revenueCat.name, eventId };
  await storeEvent(deps, { ...key, event: snapshot, payload: null, receivedAt });
  const { status } = await applyEvent(deps, key, possibleAccountIds(snapshot.appUserIds));
  return status === "processed";
}

const inSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
