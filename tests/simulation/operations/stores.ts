import { Purchase } from "../model/billing";
import { type Owner, Violation } from "../model/fact";
import type { World } from "../world";
import type { Step } from "./operation";
import type { ProviderEvent } from "./sent";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MONTH_MS = 30 * DAY_MS;
const WEBHOOK = "/api/subscription/billing-provider-webhook";

const STORES = ["stripe", "paddle", "appStore"] as const;
type Store = (typeof STORES)[number];
type Webhook = () => { body: string; headers: Record<string, string> };

/** Things that happen to one purchase happen one after the other. */
export const later = () => new Promise((resolve) => setTimeout(resolve, 1_000));

function add(purchase: Purchase, label: string, webhook: Webhook, { isLost = false } = {}): ProviderEvent {
  const request = () => ({ path: WEBHOOK, ...webhook() });
  const event = { label: `deliver ${label} of ${purchase.owner.name}`, request, isAcknowledged: false, isLost };
  purchase.events.push(event);
  return event;
}

/** A webhook is delivered. One that could not be applied is retried. */
export async function deliver(step: Step, event: ProviderEvent): Promise<void> {
  const { path, ...sent } = event.request();
  const answer = await step.send(event.label, "POST", path, sent);
  if (answer.outcome === "refused") throw new Violation("webhook is refused", `${event.label}: ${answer.status}`);
  if (answer.outcome !== "done") return;
  if (answer.body.status !== "failed") event.isAcknowledged = true;
  else if (!step.isDisturbed()) throw new Violation("event is not applied", event.label);
}

/** Somebody buys, at any of the providers. */
export async function buy(step: Step, owner: Owner): Promise<Purchase> {
  const { random, world } = step;
  await later();
  const endsInMs = random.pick([10 * MINUTE_MS, 120 * MINUTE_MS, MONTH_MS]);
  if (random.chance(0.5)) return buyFromRevenueCat(step, owner, endsInMs);
  const provider = random.pick(STORES);
  const store = world.stores[provider];
  const isLifetime = random.chance(0.25);
  const { id, webhooks } = isLifetime ? store.buy(owner.id ?? "") : store.subscribe(owner.id ?? "", endsInMs);
  const purchase = new Purchase(owner, provider, id);
  if (!isLifetime) purchase.endsAtMs = step.nowMs + endsInMs;
  if (provider === "paddle") purchase.entitlements = isLifetime ? ["domains"] : ["chat"];
  for (const webhook of webhooks) add(purchase, `a purchase at ${provider}`, webhook, { isLost: random.chance(0.2) });
  return purchase;
}

/** Something happens to a purchase. Its events arrive later. */
export async function happen(step: Step, purchase: Purchase): Promise<void> {
  await later();
  if (purchase.provider === "revenuecat") return happenAtRevenueCat(step, purchase);
  happenAtStore(step, purchase, purchase.provider as Store);
  // Stripe's times are in seconds, and two events of one say which came first.
  if (purchase.provider === "stripe" && step.random.chance(0.5)) happenAtStore(step, purchase, "stripe");
}

function happenAtStore(step: Step, purchase: Purchase, provider: Store): void {
  const { random, nowMs } = step;
  const store = step.world.stores[provider];
  const { transaction: id, isLifetime, isEnded, renews } = purchase;
  const emit = (label: string, webhooks: Webhook[]) => {
    for (const webhook of webhooks) add(purchase, `${label} at ${provider}`, webhook, { isLost: random.chance(0.2) });
  };
  if (isLifetime) {
    if (isEnded && provider === "stripe") return;
    emit(isEnded ? "a reversed refund" : "a refund", isEnded ? store.reverseRefund(id) : store.refund(id));
    purchase.isEnded = !isEnded;
    return;
  }
  if (isEnded) return;
  const isOver = nowMs >= purchase.endsAtMs;
  const changes = renews
    ? isOver
      ? (["renew", "expire", "fail"] as const)
      : (["renew", "renew", "cancel", "upgrade", "fail", "refund"] as const)
    : (["expire", "refund"] as const);
  const change = random.pick(changes);
  emit(change, change === "refund" ? store.refund(id) : store.change[change](id));
  if (change === "expire" || change === "refund") purchase.isEnded = true;
  if (change === "cancel" || change === "fail") purchase.renews = false;
  if (change === "upgrade") purchase.entitlements = store.premium;
  if (change === "fail") purchase.endsAtMs = store.unpaid.isActive ? nowMs + MONTH_MS : nowMs;
  else if (change === "renew" || (change === "upgrade" && provider !== "paddle")) purchase.endsAtMs = nowMs + MONTH_MS;
}

/** Nobody buys a product of the App Store twice: an import, which does not name the first transaction, is known by it. */
export const productOf = ({ transaction }: Purchase) => `com.example.${transaction.slice(0, 8)}`;

/** The store of a purchase that RevenueCat knows of. */
export const storeOf = ({ transaction }: Purchase) => (/^[0-3]/.test(transaction) ? "PLAY_STORE" : "APP_STORE");

/** A RevenueCat event ("Event Types and Fields") of a purchase. */
function emitFromRevenueCat(step: Step, purchase: Purchase, type: string, fields: Record<string, unknown> = {}): void {
  const { owner, customer, transaction, startedAtMs, endsAtMs, isSandbox, isFamilyShare, isLifetime } = purchase;
  const event = {
    id: step.random.uuid(),
    type,
    app_user_id: customer ?? owner.id,
    original_app_user_id: customer ?? owner.id,
    aliases: [customer ?? owner.id],
    event_timestamp_ms: step.nowMs,
    product_id: productOf(purchase),
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    purchased_at_ms: startedAtMs,
    expiration_at_ms: isLifetime ? null : endsAtMs,
    environment: isSandbox ? "SANDBOX" : "PRODUCTION",
    store: storeOf(purchase),
    is_family_share: isFamilyShare,
    transaction_id: `${transaction}-${startedAtMs}`,
    original_transaction_id: transaction,
    price: 4.99,
    currency: "USD",
    ...fields,
  };
  add(purchase, type, revenueCatWebhook(step.world, event));
}

const revenueCatWebhook = ({ billingAuthorization: authorization }: World, event: object): Webhook => {
  const body = JSON.stringify({ api_version: "1.0", event });
  return () => ({ body, headers: { authorization } });
};

export function buyFromRevenueCat(
  step: Step,
  owner: Owner,
  endsInMs: number,
  customer: string | null = null,
): Purchase {
  const { random } = step;
  const purchase = new Purchase(owner, "revenuecat", random.uuid());
  purchase.customer = customer;
  const isLifetime = random.chance(0.2);
  purchase.isSandbox = random.chance(0.15);
  purchase.isFamilyShare = random.chance(0.1);
  purchase.startedAtMs = step.nowMs;
  if (!isLifetime) purchase.endsAtMs = purchase.startedAtMs + endsInMs;
  // The first transaction of a purchase may have no original one.
  const first = random.chance(0.3) ? { transaction_id: purchase.transaction, original_transaction_id: null } : {};
  emitFromRevenueCat(step, purchase, isLifetime ? "NON_RENEWING_PURCHASE" : "INITIAL_PURCHASE", first);
  return purchase;
}

function happenAtRevenueCat(step: Step, purchase: Purchase): void {
  const { random, nowMs } = step;
  const emit = (type: string, fields?: Record<string, unknown>) => emitFromRevenueCat(step, purchase, type, fields);
  const { isEnded, isLifetime, renews } = purchase;
  const isOver = nowMs >= purchase.endsAtMs;
  const type = isEnded
    ? null
    : isLifetime
      ? "REFUND"
      : isOver
        ? random.pick(renews ? ["RENEWAL", "EXPIRATION", "BILLING_ISSUE"] : ["EXPIRATION", "RENEWAL"])
        : random.pick([
            "RENEWAL",
            renews ? "CANCELLATION" : purchase.isUnpaid ? "RENEWAL" : "UNCANCELLATION",
            "REFUND",
            "REFUND OF A PERIOD",
          ]);
  if (type === "RENEWAL") {
    Object.assign(purchase, { startedAtMs: nowMs, endsAtMs: nowMs + MONTH_MS, renews: true, isUnpaid: false });
    emit(type);
  } else if (type === "CANCELLATION") {
    purchase.renews = false;
    emit(type, { cancel_reason: "UNSUBSCRIBE" });
  } else if (type === "UNCANCELLATION") {
    purchase.renews = true;
    emit(type);
  } else if (type === "BILLING_ISSUE") {
    emit(type, { grace_period_expiration_at_ms: nowMs + 16 * DAY_MS });
    Object.assign(purchase, { renews: false, endsAtMs: nowMs + 16 * DAY_MS, isUnpaid: true });
  } else if (type === "EXPIRATION") {
    purchase.isEnded = true;
    emit(type, { expiration_reason: "UNSUBSCRIBE" });
  } else if (type === "REFUND") {
    purchase.isEnded = true;
    emit("CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT", expiration_at_ms: nowMs - 1_000 });
  } else if (type === "REFUND OF A PERIOD") {
    // It ends a subscription only if its expiry has passed.
    emit("CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" });
  }
}

/**
 * RevenueCat moves all purchases of a customer to another one, as when somebody restores them in another account. An event moves
 * those of one store.
 */
export async function transfer(step: Step, from: Owner & { purchases: Purchase[] }, to: typeof from): Promise<void> {
  await later();
  const moved = from.purchases.filter(({ owner, provider }) => owner === from && provider === "revenuecat");
  const transferred_from = [...new Set([from.id, ...moved.flatMap(({ customer }) => customer ?? [])])];
  for (const store of new Set(moved.map(storeOf))) {
    const event = {
      id: step.random.uuid(),
      type: "TRANSFER",
      store,
      event_timestamp_ms: step.nowMs,
      transferred_from,
      transferred_to: [to.id],
    };
    const [first, ...others] = moved.filter((one) => storeOf(one) === store);
    if (!first) continue;
    const transferred = add(first, "a transfer", revenueCatWebhook(step.world, event));
    for (const one of others) one.events.push(transferred);
  }
  for (const purchase of moved) {
    purchase.owner = to;
    purchase.isMoved = true;
    purchase.customer = null;
    if (!to.purchases.includes(purchase)) to.purchases.push(purchase);
  }
}
