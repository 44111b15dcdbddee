import type { EventFacts } from "../../events";
import { snapshotOf } from "../build-event";
import { toDate } from "../fields";
import { entitlementsOf, type SoldItem } from "../products";
import type { Products } from "../provider";
import { type PaddleObject, timeOf } from "./payload";

const TYPES = new Map([
  ["subscription.created", "INITIAL_PURCHASE"],
  ["subscription.imported", "INITIAL_PURCHASE"],
  ["subscription.resumed", "UNCANCELLATION"],
]);

/** Names what changed, for operators. Of the state, only since when the subscription is canceled depends on it. */
export function typeOf(type: string, { snapshot }: Partial<EventFacts>): string {
  if (snapshot?.endedAt) return "EXPIRATION";
  if (snapshot?.billingIssueDetectedAt) return "BILLING_ISSUE";
  return TYPES.get(type) ?? (snapshot?.unsubscribedAt ? "CANCELLATION" : "SNAPSHOT");
}

/** What the items sell: the price and the product, with the entitlements of the price's custom data, else the product's. */
export function soldItems(items: NonNullable<PaddleObject["items"]>): SoldItem[] {
  return items.map(({ price, product }) => ({
    ids: [price?.id ?? null, price?.product_id ?? product?.id ?? null],
    metadataEntitlementIds: price?.custom_data?.entitlements ?? product?.custom_data?.entitlements ?? null,
  }));
}

/**
 * The state of a subscription, which each of its events contains in full ("Subscriptions", status); null: an unknown
 * status.
 */
export function subscriptionFacts(
  data: PaddleObject,
  occurredAt: Date,
  products: Products,
): Partial<EventFacts> | null {
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
    case "past_due":
      // The period has begun without being paid: what was paid ended at its start. Paddle retries while it is past due.
      return {
        ...base,
        expiresAt: start,
        gracePeriodEndsAt: end,
        snapshot: snapshotOf({ ...snapshot, billingIssueDetectedAt: occurredAt }),
      };
    case "paused":
      return ended(base, snapshot, at(data.paused_at) ?? occurredAt, "SUBSCRIPTION_PAUSED");
    case "canceled":
      return ended(base, snapshot, at(data.canceled_at) ?? occurredAt, "UNKNOWN");
    default:
      return null;
  }
}

type SnapshotInput = Parameters<typeof snapshotOf>[0];

function ended(
  base: Partial<EventFacts>,
  snapshot: SnapshotInput,
  endedAt: Date,
  expirationReason: string,
): Partial<EventFacts> {
  return { ...base, expiresAt: endedAt, expirationReason, snapshot: snapshotOf({ ...snapshot, endedAt }) };
}

/** When a pause ends: of one that is scheduled, or of the current one. */
function resumeTime({ scheduled_change: change }: PaddleObject): Date | null {
  if (change?.action === "pause") return at(change.resume_at);
  return change?.action === "resume" ? at(change.effective_at) : null;
}

const at = (text: string | null | undefined) => toDate(timeOf(text));
