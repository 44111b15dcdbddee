import type { Context, Tx } from "../../context";
import type { NewWebhookEvent } from "../../webhooks/events";
import type { WebhookRecorder } from "../../webhooks/outbox";
import { type BillingRules, readStatusRules, type StatusRules } from "../entitlement-rules";
import type { Refolded } from "../inbox/fold";
import type { StoredPurchase } from "../purchase-state";
import { accountStatus } from "../status/account-status";
import { readPurchasesOf } from "./notify-owners";

type Deps = Pick<Context, "now"> & { webhooks: WebhookRecorder; config: BillingRules };

/**
 * Announces the accounts whose subscription status these changes of purchases have changed, in their transaction: one event
 * for each account, however many changes it had. Does nothing if no endpoint subscribes to the event.
 */
export async function recordStatusChanges(tx: Tx, deps: Deps, changes: readonly Refolded[]) {
  const { now, webhooks } = deps;
  if (changes.length === 0 || !webhooks.isSubscribed("subscription.changed")) return;
  const owners = changes.flatMap(({ before, after }) => [before.accountId, after.accountId]);
  const accountIds = new Set(owners.filter((id) => id !== null));
  const current = await readPurchasesOf(tx, [...accountIds]);
  const earlier = asBefore(current, changes);
  const rulesOf = await readStatusRules(tx, deps, [...earlier, ...current]);
  const states = { earlier, current, rulesOf, at: now() };
  const events = [...accountIds].flatMap((accountId) => eventOf(accountId, states) ?? []);
  await webhooks.record(tx, events);
}

type States = {
  earlier: StoredPurchase[];
  current: StoredPurchase[];
  rulesOf: (accountId: string) => StatusRules;
  at: Date;
};

/**
 * Compares the status now with the status when the account's purchases last changed, which is what was announced: their
 * events may have arrived late. A change between the two that only the passage of time caused is not announced.
 */
function eventOf(accountId: string, { earlier, current, rulesOf, at }: States): NewWebhookEvent | null {
  const rules = rulesOf(accountId);
  const ofAccount = (purchase: StoredPurchase) => purchase.accountId === accountId;
  const own = earlier.filter(ofAccount);
  const lastChangeMs = Math.max(...own.map(({ updatedAt }) => updatedAt?.getTime() ?? 0), 0);
  const before = summaryOf(accountStatus(own, new Date(Math.min(lastChangeMs, at.getTime())), rules));
  const after = summaryOf(accountStatus(current.filter(ofAccount), at, rules));
  if (JSON.stringify(before) === JSON.stringify(after)) return null;
  const data = { accountId, ...after, previousStatus: before.status };
  return { type: "subscription.changed", data, accountId };
}

function summaryOf({ status, isActive, productId, entitlements }: ReturnType<typeof accountStatus>) {
  const active = entitlements.filter((entitlement) => entitlement.isActive).map(({ id }) => id);
  return { status, isActive, productId, entitlements: active };
}

/** The same purchases, and those that have left the accounts, as they were before the first change of each. */
function asBefore(current: readonly StoredPurchase[], changes: readonly Refolded[]): StoredPurchase[] {
  const versions = new Map(current.map((purchase) => [purchase.id, purchase]));
  for (const { before } of changes.toReversed()) versions.set(before.id, before);
  return [...versions.values()];
}
