import type { Context, Tx } from "../../context";
import type { WebhookRecorder } from "../../webhooks/outbox";
import type { BillingRules } from "../entitlement-rules";
import type { ParsedEvent } from "../inbox/decide-event";
import type { Refolded } from "../inbox/refold";
import { customersToReconcile, scheduleReconcile } from "../reconcile/schedule";
import { notifyOwners } from "./notify-owners";
import { recordStatusChanges } from "./status-changes";
import { cancelTrialEndings } from "./trial-endings";
import { wakeApps } from "./wake-apps";
import { warnOfProducts } from "./warn-products";

type Deps = Pick<Context, "billing" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
};

/** What an event changed: its own purchase, or those whose owner it changed. */
type EventChanges = { event: ParsedEvent; purchases: Refolded[] };

/**
 * Queues the notifications and webhooks of what events changed, and schedules the customers that need it to be
 * reconciled, in the events' transaction. Returns the App User IDs of those customers, by event.
 */
export async function announceChanges(
  tx: Tx,
  deps: Deps,
  changes: readonly EventChanges[],
): Promise<Map<ParsedEvent, string[]>> {
  const ofPurchases = changes.flatMap(({ event, purchases }) => purchases.map((one) => ({ event, ...one })));
  await cancelTrialEndings(tx, deps.dbNow, ofPurchases);
  await notifyOwners(tx, deps, ofPurchases);
  await wakeApps(tx, deps, ofPurchases);
  await recordStatusChanges(tx, deps, ofPurchases);
  warnOfProducts(deps, ofPurchases);
  const toReconcile = new Map<ParsedEvent, string[]>();
  if (!deps.billing) return toReconcile;
  for (const { event, purchases } of changes) {
    toReconcile.set(event, await customersToReconcile(tx, event, purchases));
  }
  await scheduleReconcile(tx, deps.dbNow, [...toReconcile.values()].flat());
  return toReconcile;
}
