import { PurchaseEventType } from "../../lib/subscriptions/events";
import { foldPurchase } from "../../lib/subscriptions/fold/fold-purchase";
import { revenueCat } from "../../lib/subscriptions/providers/revenuecat";
import type { Random } from "./random";
import { DAY_MS, HOUR_MS, type Rows } from "./rows";

const PLANS = [
  { productId: "com.example.core.monthly", days: 30, price: 4.99 },
  { productId: "com.example.core.monthly", days: 30, price: 4.99 },
  { productId: "com.example.ops.monthly", days: 30, price: 9.99 },
  { productId: "com.example.core.yearly", days: 365, price: 39.99 },
] as const;
const STORES = ["APP_STORE", "APP_STORE", "PLAY_STORE", "STRIPE"] as const;
const TRIAL_DAYS = 7;
/** A number as long as Apple's. */
const FIRST_TRANSACTION = 2_000_000_000_000;
/** Per period. */
const CHURN = 0.03;
const BILLING_ISSUES = 0.04;
/** Older payloads were deleted by retention. */
const PAYLOAD_DAYS = 60;
/** From an event to its delivery. */
const DELAY_MS = 1_500;

type Step = { type: PurchaseEventType; at: Date; fields?: Record<string, unknown> };
type Period = { startsAt: Date; endsAt: Date };
/** A step, with the period that it belongs to. */
type DatedStep = Step & { period: Period };
type Plan = (typeof PLANS)[number];
/** Who buys. `accountId` null: somebody who has not signed in. */
export type Customer = { accountId: string | null; since: Date };
/** What all events of a purchase have. */
type Subject = { accountId: string | null; anonymousId: string; plan: Plan; store: string; transaction: string };
type Delivery = ReturnType<typeof deliver>;

/** Adds a customer's purchase, and its events as RevenueCat sends them, read and folded as the service does. */
export function addSubscription(rows: Rows, random: Random, { accountId, since }: Customer, now: Date): void {
  const boughtAt = new Date(since.getTime() + random.next() * 10 * DAY_MS);
  if (boughtAt >= now) return;
  const subject: Subject = {
    accountId,
    anonymousId: `$RCAnonymousID:${random.hex(32)}`,
    plan: random.pick(PLANS),
    store: random.pick(STORES),
    transaction: String(FIRST_TRANSACTION + random.serial()),
  };
  const deliveries = historyOf(random, subject.plan, boughtAt, now).map((step, i) => deliver(random, subject, step, i));
  const purchaseId = random.id(boughtAt);
  rows.add("Purchase", {
    ...foldPurchase(
      deliveries.map(({ eventId, read }) => ({ id: eventId, type: PurchaseEventType.parse(read.type), ...read.facts })),
    ),
    id: purchaseId,
    provider: revenueCat.name,
    environment: "PRODUCTION",
    store: subject.store,
    originalTransactionId: `${subject.transaction}0`,
    accountId,
    appUserIds: deliveries[0]?.read.appUserIds,
    createdAt: boughtAt,
    updatedAt: deliveries.at(-1)?.receivedAt,
  });
  for (const delivery of deliveries)
    rows.add("BillingEvent", { ...toRow(random, delivery, now), purchaseId, accountId });
}

/** The delivery of event number `i` of a purchase. */
function deliver(random: Random, subject: Subject, { type, at, fields, period }: DatedStep, i: number) {
  const { accountId, anonymousId, plan, store, transaction } = subject;
  const event = {
    id: random.id(at).toUpperCase(),
    type,
    app_user_id: accountId ?? anonymousId,
    original_app_user_id: anonymousId,
    aliases: accountId === null ? [anonymousId] : [accountId, anonymousId],
    event_timestamp_ms: at.getTime(),
    purchased_at_ms: period.startsAt.getTime(),
    expiration_at_ms: period.endsAt.getTime(),
    environment: "PRODUCTION",
    store,
    product_id: plan.productId,
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    transaction_id: `${transaction}${i}`,
    original_transaction_id: `${transaction}0`,
    price: plan.price,
    currency: "USD",
    ...fields,
  };
  const payload = { api_version: "1.0", event };
  const receivedAt = new Date(at.getTime() + DELAY_MS);
  return { eventId: event.id, receivedAt, payload, read: revenueCat.read(payload, receivedAt) };
}

function toRow(random: Random, { eventId, receivedAt, payload, read }: Delivery, now: Date) {
  return {
    id: random.id(receivedAt),
    provider: revenueCat.name,
    eventId,
    ...read,
    state: "processed",
    occurredAt: read.facts.occurredAt,
    purchasedAt: read.facts.purchasedAt,
    receivedAt,
    processedAt: receivedAt,
    payload: now.getTime() - receivedAt.getTime() < PAYLOAD_DAYS * DAY_MS ? payload : null,
    attempts: 0,
    nextAttemptAt: receivedAt,
  };
}

/** The events of a subscription until now: perhaps a trial, renewals, failed charges, and perhaps its end. */
function historyOf(random: Random, { days }: Plan, boughtAt: Date, now: Date): DatedStep[] {
  const steps: DatedStep[] = [];
  const hasTrial = random.chance(0.3);
  let period = periodFrom(boughtAt, hasTrial ? TRIAL_DAYS : days);
  const add = (type: Step["type"], at: Date, fields: Step["fields"] = {}) => {
    if (at < now) steps.push({ type, at, fields, period });
  };
  add("INITIAL_PURCHASE", boughtAt, hasTrial ? { period_type: "TRIAL", price: 0 } : {});
  while (period.endsAt < now) {
    if (random.chance(CHURN)) {
      const canceledAt = within(random, period);
      add("CANCELLATION", canceledAt, { cancel_reason: "UNSUBSCRIBE", price: 0 });
      if (random.chance(0.25)) add("UNCANCELLATION", within(random, { ...period, startsAt: canceledAt }));
      else {
        add("EXPIRATION", period.endsAt, { expiration_reason: "UNSUBSCRIBE", price: 0 });
        return steps;
      }
    }
    if (random.chance(BILLING_ISSUES)) {
      add("BILLING_ISSUE", new Date(period.endsAt.getTime() - HOUR_MS), { price: 0 });
      if (random.chance(0.3)) {
        add("EXPIRATION", period.endsAt, { expiration_reason: "BILLING_ERROR", price: 0 });
        return steps;
      }
    }
    period = periodFrom(period.endsAt, days);
    add("RENEWAL", period.startsAt);
  }
  return steps;
}

function periodFrom(startsAt: Date, days: number): Period {
  return { startsAt, endsAt: new Date(startsAt.getTime() + days * DAY_MS) };
}

function within(random: Random, { startsAt, endsAt }: Period): Date {
  return new Date(startsAt.getTime() + random.next() * (endsAt.getTime() - startsAt.getTime() - 2 * HOUR_MS));
}
