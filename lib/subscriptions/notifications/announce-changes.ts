import type { Context, Tx } from "../../context";
import { enqueueAll, type PushEvent } from "../../push/outbox/enqueue";
import type { WebhookRecorder } from "../../webhooks/outbox";
import { type BillingRules, canEntitle, readStatusRules, type StatusRules } from "../entitlement-rules";
import type { ParsedEvent } from "../inbox/decide";
import type { PurchaseChange, Refolded } from "../inbox/fold";
import { customersToReconcile, scheduleReconcile } from "../reconcile/schedule";
import type { Reference } from "../references";
import { notifyOwners } from "./notify-owners";
import { recordStatusChanges } from "./status-changes";
import { cancelTrialEndings } from "./trial-endings";

type Reason = "refund" | "transfer" | "recovery" | "grant";

/** The apps read the status when they are opened next: what is older needs no wake-up. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Wakes the apps of accounts whose access may have changed without their doing, by a background push, so that they read
 * the status: a purchase was refunded or moved to another account, its failed payment succeeded, or an operator
 * granted an entitlement or ended the grant. In the events' transaction, and once for each event and account.
 */
async function wakeApps(
  tx: Tx,
  deps: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  changes: readonly PurchaseChange[],
): Promise<void> {
  const since = deps.now().getTime() - MAX_AGE_MS;
  const recent = changes.filter(({ event }) => event.facts.occurredAt.getTime() >= since);
  const owned = recent.flatMap(({ before, after }) => [before, after]);
  const rulesOf = await readStatusRules(tx, deps, owned);
  const events = new Map(recent.flatMap((change) => wakeUpsOf(change, rulesOf)).map((one) => [one.eventKey, one]));
  if (events.size > 0) await enqueueAll(tx, deps.dbNow(), [...events.values()]);
}

/** Both accounts of a transfer are concerned. */
function wakeUpsOf(change: PurchaseChange, rulesOf: (accountId: string) => StatusRules): PushEvent[] {
  const { before, after, event } = change;
  const reason = reasonOf(change);
  if (reason === null) return [];
  const accountIds = new Set([before.accountId, after.accountId].filter((id) => id !== null));
  return [...accountIds].flatMap((accountId) => {
    if (!canEntitle(after, rulesOf(accountId))) return [];
    const eventKey = `billing-changed:${event.provider}:${event.eventId}:${accountId}`;
    return { eventKey, to: { accountId }, message: { kind: "billing.changed", reason } };
  });
}

function reasonOf({ before, after, event }: PurchaseChange): Reason | null {
  if (event.type === "GRANT" || event.type === "GRANT_ENDED") return "grant";
  if (before.accountId !== null && before.accountId !== after.accountId) return "transfer";
  if ((before.refundedAt === null) !== (after.refundedAt === null)) return "refund";
  const isRecovered = before.billingIssueDetectedAt !== null && after.billingIssueDetectedAt === null;
  return isRecovered && after.endedAt === null ? "recovery" : null;
}

type Deps = Pick<Context, "billing" | "dbNow" | "log" | "now"> & { webhooks: WebhookRecorder; config: BillingRules };

/** What an event changed: its own purchase, or those whose owner it changed. */
export type EventChanges = { event: ParsedEvent; purchases: Refolded[] };

/**
 * Queues the notifications and webhooks of what events changed, and schedules the customers that need it to be
 * reconciled, in the events' transaction. Returns those customers, by event.
 */
export async function announceChanges(tx: Tx, deps: Deps, changes: readonly EventChanges[]) {
  const ofPurchases = changes.flatMap(({ event, purchases }) => purchases.map((one) => ({ event, ...one })));
  const news = ofPurchases.filter(({ event }) => event.type !== "IMPORT"); // an import happened to no customer
  await cancelTrialEndings(tx, deps.dbNow, ofPurchases);
  await notifyOwners(tx, deps, news);
  await wakeApps(tx, deps, news);
  await recordStatusChanges(tx, deps, ofPurchases);
  warnOfProducts(deps, ofPurchases);
  const toReconcile = new Map<ParsedEvent, Reference[]>();
  if (!deps.billing.revenuecat) return toReconcile;
  for (const { event, purchases } of changes) {
    toReconcile.set(event, await customersToReconcile(tx, event, purchases));
  }
  await scheduleReconcile(tx, deps.dbNow, [...toReconcile.values()].flat());
  return toReconcile;
}

/** The products that this process has warned of. A sender may use any id. */
const warned = new Set<string>();
const MAX_WARNED = 1_000;

/** Warns of subscriptions that give no entitlement, once for each product: the usual cause is an incomplete set-up. */
function warnOfProducts({ config, log }: Pick<Deps, "config" | "log">, changes: readonly PurchaseChange[]): void {
  for (const { after } of changes) {
    const { provider, productId, entitlementIds, periodType } = after;
    if (productId === null || periodType === null || entitlementIds.length > 0) continue;
    const key = `${provider} ${productId}`;
    if (config.BILLING_PRODUCTS.get(productId)?.length === 0 || warned.has(key) || warned.size >= MAX_WARNED) continue;
    warned.add(key);
    log.warn({ provider, productId }, "a product that was bought has no entitlement: see homeport billing products");
  }
}
