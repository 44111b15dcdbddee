import { revenueCat } from "../../lib/subscriptions/providers/revenuecat";
import type { Random } from "./random";
import { DAY_MS, type Rows } from "./rows";

/** Of every thousand accounts. */
const PER_THOUSAND = { failed: 2, ignored: 5 } as const;

/** Adds events that changed nothing: without a transaction, and of a type that the service ignores. */
export function addUnappliedEvents(rows: Rows, random: Random, accounts: number, now: Date): void {
  for (const state of ["failed", "ignored"] as const) {
    const count = Math.ceil((accounts * PER_THOUSAND[state]) / 1_000);
    for (let i = 0; i < count; i++) rows.add("BillingEvent", unappliedEvent(random, state, now));
  }
}

function unappliedEvent(random: Random, state: keyof typeof PER_THOUSAND, now: Date) {
  const receivedAt = new Date(now.getTime() - random.next() ** 2 * 90 * DAY_MS);
  const customer = `$RCAnonymousID:${random.hex(32)}`;
  const payload = {
    api_version: "1.0",
    event: {
      id: random.id(receivedAt).toUpperCase(),
      type: state === "ignored" ? "TEST" : "INITIAL_PURCHASE",
      app_user_id: customer,
      event_timestamp_ms: receivedAt.getTime(),
      environment: "PRODUCTION",
      store: "APP_STORE",
      product_id: "com.example.core.monthly",
    },
  };
  const read = revenueCat.read(payload, receivedAt);
  return {
    id: random.id(receivedAt),
    provider: revenueCat.name,
    eventId: payload.event.id,
    ...read,
    state,
    reason: state === "failed" ? "transaction_not_named" : "type_not_applied",
    occurredAt: read.facts.occurredAt,
    purchasedAt: read.facts.purchasedAt,
    receivedAt,
    processedAt: null,
    payload,
    attempts: 0,
    nextAttemptAt: receivedAt,
    purchaseId: null,
    accountId: null,
  };
}
