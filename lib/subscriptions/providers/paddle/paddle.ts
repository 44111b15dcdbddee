import { AppError } from "../../../errors";
import type { Config } from "../../../platform/config";
import type { EventFacts, ProviderEvent } from "../../events";
import { buildProviderEvent, orderOf } from "../build-event";
import { requireFields, toDate, toPastDate } from "../fields";
import { entitlementsOf } from "../products";
import type { Delivery, Products, Provider } from "../provider";
import { isSigned } from "../signatures";
import { nanosecondsOf, type PaddleObject, PaddlePayload, timeOf } from "./payload";
import { soldItems, subscriptionFacts, typeOf } from "./subscription";

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
  if (type.startsWith("subscription.")) {
    const facts = subscriptionFacts(data, base.occurredAt, products);
    return facts && buildProviderEvent({ ...base, type: typeOf(type, facts), purchaseId: data.id, facts });
  }
  if (type === "transaction.completed") return readTransaction(data, base, products);
  return type.startsWith("adjustment.") ? readAdjustment(data, base) : null;
}

/** The one-time items of a transaction. Those that renew belong to a subscription, which has events of its own. */
function readTransaction(data: PaddleObject, base: Base, products: Products): ProviderEvent | null {
  const items = (data.items ?? []).filter(({ price }) => price !== null && price.billing_cycle === null);
  if (items.length === 0) return null;
  const purchasedAt = toDate(timeOf(data.billed_at)) ?? base.occurredAt;
  const sold = soldItems(items);
  const totals = data.details?.totals;
  const facts = {
    purchasedAt,
    productId: sold[0]?.ids[1] ?? null,
    entitlementIds: entitlementsOf(products, sold),
    payment: { total: totals?.grand_total ?? totals?.total ?? null, refund: null },
  };
  return buildProviderEvent({ ...base, type: "NON_RENEWING_PURCHASE", purchaseId: data.id, facts });
}

/**
 * A refund or chargeback of a transaction, once it is approved. The transaction may be a subscription's, which it does not
 * cancel. That of a transaction without one-time items is stored as a purchase without a product or entitlements.
 */
function readAdjustment(data: PaddleObject, base: Base): ProviderEvent | null {
  const { action, id, status, totals, transaction_id: purchaseId } = data;
  const refund = { id: id ?? "", amount: totals?.total ?? null, isFull: isFull(data) };
  if (status !== "approved" || !(refund.isFull || refund.amount)) return null;
  const payment = { total: null, refund };
  if (action === "refund" || action === "chargeback") {
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
function isFull({ items, type }: PaddleObject): boolean {
  if (type !== null) return type === "full";
  return items !== null && items.length > 0 && items.every((item) => item.type === "full");
}
