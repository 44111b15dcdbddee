import { z } from "zod";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isSigned } from "../../platform/webhook-signatures";
import type { EventFacts, ProviderEvent } from "../events";
import { buildProviderEvent, endedFacts, isOfApi, orderOf, snapshotOf } from "./build-event";
import {
  EntitlementsField,
  EventId,
  entitlementsOf,
  OptionalAmount,
  OptionalText,
  optional,
  Rfc3339Ms,
  requireFields,
  type SoldItem,
  toDate,
  toPastDate,
} from "./fields";
import type { Delivery, Products, Provider } from "./provider";

/** Paddle Billing's notifications ("Webhooks reference"). */
export const paddle: Provider = {
  name: "paddle",
  recognizes: ({ headers }) => headers.get("paddle-signature") !== null,
  authenticate,
  eventId: (body) => requireFields(PaddlePayload, body).event_id,
  toPayload: (body) => requireFields(PaddlePayload, body),
  read,
};

/** A notification does not say whether it is of the sandbox. Each environment has secrets of its own. */
function authenticate(config: Config, delivery: Delivery, now: Date): unknown {
  const environments = [
    ["PRODUCTION", config.BILLING_PADDLE_WEBHOOK_SECRET],
    ["SANDBOX", config.BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET],
  ] as const;
  if (environments.every(([, secrets]) => secrets.length === 0)) throw new AppError("webhook_not_configured");
  for (const [environment, secrets] of environments) {
    if (isSigned("paddle", delivery, secrets, now)) return Object.assign({}, delivery.json(), { environment });
  }
  throw new AppError("webhook_unauthorized");
}

type Base = Pick<EventFacts, "occurredAt" | "order"> & {
  environment: string | null;
  store: string;
  customers: (string | null)[];
};

function read(body: unknown, receivedAt: Date, products: Products): ProviderEvent {
  const { data, environment, event_type, occurred_at } = requireFields(PaddlePayload, body);
  const type = event_type ?? "UNKNOWN";
  const occurredAt = toPastDate(timeOf(occurred_at), receivedAt) ?? receivedAt;
  const customers = [data?.custom_data?.accountId ?? null, data?.customer_id ?? null];
  const order = orderOf(receivedAt, { nanoseconds: nanosecondsOf(occurred_at) });
  const base = { occurredAt, order, environment, store: "PADDLE", customers };
  const event = data && readObject(type, data, base, products);
  return event ?? buildProviderEvent({ ...base, type, purchaseId: data?.id ?? null });
}

/** Returns null for an event that changes no purchase. */
function readObject(type: string, data: PaddleObject, base: Base, products: Products): ProviderEvent | null {
  if (isOfApi(type) && data.id?.startsWith("txn_")) return readTransaction(data, base, products, type);
  if (isOfApi(type) || type.startsWith("subscription.")) {
    const facts = subscriptionFacts(data, base.occurredAt, products);
    return facts && buildProviderEvent({ ...base, type: typeOf(type, facts), purchaseId: data.id, facts });
  }
  if (type === "transaction.completed") return readTransaction(data, base, products);
  return type.startsWith("adjustment.") ? readAdjustment(data, base) : null;
}

/**
 * The one-time items of a transaction. Those that renew belong to a subscription, which has events of its own. `type`: of one
 * that the API returned, with its adjustments.
 */
function readTransaction(data: PaddleObject, base: Base, products: Products, type?: string): ProviderEvent | null {
  const items = (data.items ?? []).filter(({ price }) => price !== null && price.billing_cycle === null);
  if (items.length === 0 || (type && data.status !== "completed")) return null;
  const purchasedAt = toDate(timeOf(data.billed_at)) ?? base.occurredAt;
  const sold = soldItems(items);
  const totals = data.details?.totals;
  const facts = {
    purchasedAt,
    productId: sold[0]?.ids[1] ?? null,
    entitlementIds: entitlementsOf(products, sold),
    payment: { total: totals?.grand_total ?? totals?.total ?? null, refund: null },
    snapshot: type ? { ...snapshotOf({ refundedAt: refundTime(data, base.occurredAt) }), isRefundKnown: true } : null,
  };
  return buildProviderEvent({ ...base, type: type ?? "NON_RENEWING_PURCHASE", purchaseId: data.id, facts });
}

/** When a transaction's adjustments had taken back the whole payment; null: they have not, or it was given back. */
function refundTime({ adjustments, details }: PaddleObject, occurredAt: Date): Date | null {
  const total = BigInt(details?.totals?.grand_total ?? details?.totals?.total ?? 0);
  const whole = total || 1n; // without the payment's amount, only a refund of the whole counts
  const amountOf = (one: Adjustment) => (isFull(one) ? whole : total && BigInt(one.totals?.total ?? 0));
  const ofStatus = (given: string) => (adjustments ?? []).filter(({ status }) => status === given);
  const chargebacks = ofStatus("reversed").filter(({ action }) => action === "chargeback");
  // Paddle has taken these off itself, so that their reversals take nothing off.
  let reversed = chargebacks.reduce((sum, one) => sum + amountOf(one), 0n);
  let [refunded, refundedAt]: [bigint, Date | null] = [0n, null];
  const inOrder = ofStatus("approved").toSorted((a, b) => (timeOf(a.updated_at) ?? 0) - (timeOf(b.updated_at) ?? 0));
  for (const one of inOrder) {
    const amount = amountOf(one);
    if (REFUNDS.has(one.action)) refunded += amount;
    else if (one.action === "chargeback_reverse") {
      refunded -= amount > reversed ? amount - reversed : 0n;
      reversed -= amount > reversed ? reversed : amount;
    }
    refundedAt = refunded >= whole ? (refundedAt ?? at(one.updated_at) ?? occurredAt) : null;
  }
  return refundedAt;
}

const REFUNDS: ReadonlySet<string | null> = new Set(["refund", "chargeback"]);

/**
 * A refund or chargeback of a transaction, once it is approved. The transaction may be a subscription's, which it does not
 * cancel. That of a transaction without one-time items is stored as a purchase without a product or entitlements.
 */
function readAdjustment(data: PaddleObject, base: Base): ProviderEvent | null {
  const { action, id, status, totals, transaction_id: purchaseId } = data;
  const refund = { id: id ?? "", amount: totals?.total ?? null, isFull: isFull(data) };
  if (status !== "approved" || !(refund.isFull || refund.amount)) return null;
  const payment = { total: null, refund };
  if (REFUNDS.has(action)) {
    const facts = { isRefund: true, cancelReason: "CUSTOMER_SUPPORT", payment };
    return buildProviderEvent({ ...base, type: refund.isFull ? "CANCELLATION" : "PARTIAL_REFUND", purchaseId, facts });
  }
  if (action !== "chargeback_reverse") return null;
  return buildProviderEvent({ ...base, type: "REFUND_REVERSED", purchaseId, facts: { payment } });
}

/**
 * Whether Paddle calls an adjustment full. One that lists items is partial, even if it lists all of them. Its type may be
 * missing, unlike those of its items.
 */
function isFull({ items, type }: Pick<Adjustment, "items" | "type">): boolean {
  if (type !== null) return type === "full";
  return items !== null && items.length > 0 && items.every((item) => item.type === "full");
}

const Custom = optional(z.object({ accountId: OptionalText, entitlements: EntitlementsField }));
const Price = z.object({
  id: OptionalText,
  product_id: OptionalText,
  billing_cycle: optional(z.object({})),
  custom_data: Custom,
});
const Item = z.object({
  /** Of an adjustment's item. */
  type: OptionalText,
  price: optional(Price),
  product: optional(z.object({ id: OptionalText, custom_data: Custom })),
});

const Adjustment = z.object({
  action: OptionalText,
  type: OptionalText,
  status: OptionalText,
  updated_at: OptionalText,
  items: optional(z.array(Item)),
  totals: optional(z.object({ total: OptionalAmount })),
});
type Adjustment = z.infer<typeof Adjustment>;

/** The fields of a subscription, a transaction and an adjustment. Others are not stored. */
const PaddleObject = z.object({
  id: OptionalText,
  status: OptionalText,
  customer_id: OptionalText,
  custom_data: Custom,
  items: optional(z.array(Item)),
  started_at: OptionalText,
  paused_at: OptionalText,
  canceled_at: OptionalText,
  billed_at: OptionalText,
  current_billing_period: optional(z.object({ starts_at: OptionalText, ends_at: OptionalText })),
  scheduled_change: optional(z.object({ action: OptionalText, effective_at: OptionalText, resume_at: OptionalText })),
  action: OptionalText,
  type: OptionalText,
  transaction_id: OptionalText,
  /** Of a transaction. `grand_total` is after credits and before payments; `total` is before both. */
  details: optional(z.object({ totals: optional(z.object({ grand_total: OptionalAmount, total: OptionalAmount })) })),
  /** Of a transaction that the API returns. */
  adjustments: optional(z.array(Adjustment)),
  /** Of an adjustment. */
  totals: optional(z.object({ total: OptionalAmount })),
});
type PaddleObject = z.infer<typeof PaddleObject>;

/** `environment` is not Paddle's: it says whose secret signed the delivery. */
const PaddlePayload = z.object({
  environment: OptionalText,
  event_id: EventId,
  event_type: OptionalText,
  occurred_at: OptionalText,
  data: optional(PaddleObject),
});

/** The part of a time below milliseconds, in nanoseconds. */
function nanosecondsOf(text: string | null): number {
  const [, fraction = ""] = /\.(\d{1,9})/.exec(text ?? "") ?? [];
  return Number(fraction.padEnd(9, "0").slice(3));
}

/** Paddle's times have up to nanoseconds. Returns milliseconds since 1970; null for anything else. */
const timeOf = (text: string | null | undefined) => Rfc3339Ms.parse(text ?? null);

const TYPES = new Map([
  ["subscription.created", "INITIAL_PURCHASE"],
  ["subscription.imported", "INITIAL_PURCHASE"],
  ["subscription.resumed", "UNCANCELLATION"],
]);

/** Names what changed, for operators. Of the state, only since when the subscription is canceled depends on it. */
function typeOf(type: string, { snapshot }: Partial<EventFacts>): string {
  if (isOfApi(type)) return type;
  if (snapshot?.endedAt) return "EXPIRATION";
  if (snapshot?.billingIssueDetectedAt) return "BILLING_ISSUE";
  return TYPES.get(type) ?? (snapshot?.unsubscribedAt ? "CANCELLATION" : "SNAPSHOT");
}

/** What the items sell: the price and the product, with the entitlements of the price's custom data, else the product's. */
function soldItems(items: NonNullable<PaddleObject["items"]>): SoldItem[] {
  return items.map(({ price, product }) => ({
    ids: [price?.id ?? null, price?.product_id ?? product?.id ?? null],
    metadataEntitlementIds: price?.custom_data?.entitlements ?? product?.custom_data?.entitlements ?? null,
  }));
}

/**
 * The state of a subscription, which each of its events contains in full ("Subscriptions", status); null: an unknown
 * status.
 */
function subscriptionFacts(data: PaddleObject, occurredAt: Date, products: Products): Partial<EventFacts> | null {
  const state = stateOf(data, occurredAt);
  if (!state) return null;
  const sold = soldItems(data.items ?? []);
  const main = sold.find((one) => entitlementsOf(products, [one]).length > 0) ?? sold[0];
  return { productId: main?.ids[1] ?? null, entitlementIds: entitlementsOf(products, sold), ...state };
}

function stateOf(data: PaddleObject, occurredAt: Date): Partial<EventFacts> | null {
  const { current_billing_period: period, scheduled_change: change, status } = data;
  const [start, end] = [at(period?.starts_at), at(period?.ends_at)];
  const isCanceled = change?.action === "cancel";
  const unsubscribedAt = isCanceled ? occurredAt : null;
  const isPausing = change?.action === "pause";
  const snapshot = { startedAt: at(data.started_at), periodStartsAt: start, unsubscribedAt, isPausing };
  const base = { periodType: "NORMAL", resumesAt: resumeTime(data) };
  switch (status) {
    case "active":
    case "trialing": {
      const expiresAt = isCanceled ? (at(change.effective_at) ?? end) : end;
      const periodType = status === "trialing" ? "TRIAL" : "NORMAL";
      return { ...base, periodType, expiresAt, snapshot: snapshotOf(snapshot) };
    }
    case "past_due": {
      // The period has begun without being paid: what was paid ended at its start. Paddle retries while it is past due.
      const unpaid = snapshotOf({ ...snapshot, billingIssueDetectedAt: occurredAt });
      return { ...base, expiresAt: start, gracePeriodEndsAt: end, snapshot: unpaid };
    }
    case "paused":
      return endedFacts(base, snapshot, at(data.paused_at) ?? occurredAt, "SUBSCRIPTION_PAUSED");
    case "canceled":
      return endedFacts(base, snapshot, at(data.canceled_at) ?? occurredAt, "UNKNOWN");
    default:
      return null;
  }
}

/** When a pause ends: of one that is scheduled, or of the current one. */
function resumeTime({ scheduled_change: change }: PaddleObject): Date | null {
  if (change?.action === "pause") return at(change.resume_at);
  return change?.action === "resume" ? at(change.effective_at) : null;
}

const at = (text: string | null | undefined) => toDate(timeOf(text));
