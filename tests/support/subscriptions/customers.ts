import { randomUUID } from "node:crypto";
import { clock } from "@/tests/support/context";
import { billingEvent, type Sent, storedEvent } from "./billing";

/** The time so many minutes ago, in milliseconds. */
const minutesAgo = (minutes: number) => clock.now().getTime() - minutes * 60_000;
/** The account that owns the purchase of an event. */
export const ownerOf = async (event: Sent) => (await storedEvent(event.id))?.purchase?.accountId;

/** A purchase by a customer, so many minutes ago. */
export function purchaseBy(by: string, minutes: number, fields: Record<string, unknown> = {}): Sent {
  const at = minutesAgo(minutes);
  const names = { app_user_id: by, original_app_user_id: by, aliases: [by] };
  return billingEvent("INITIAL_PURCHASE", { ...names, event_timestamp_ms: at, purchased_at_ms: at, ...fields });
}

/** A transfer from one customer, by their App User IDs, to another. */
export function transfer(from: string[], to: string[], minutes: number, fields: Record<string, unknown> = {}): Sent {
  const event = { id: randomUUID(), type: "TRANSFER", store: "APP_STORE", event_timestamp_ms: minutesAgo(minutes) };
  return { ...event, environment: "PRODUCTION", transferred_from: from, transferred_to: to, ...fields };
}

/** A redeemed web purchase. */
export function redemption(outcome: string, from: string[], by: string[], minutes: number): Sent {
  const at = { event_timestamp_ms: minutesAgo(minutes), store: "APP_STORE", environment: "PRODUCTION" };
  const people = { redeemed_from: from, redeemed_by: by, redemption_outcome: outcome };
  return { id: randomUUID(), type: "PURCHASE_REDEEMED", ...at, ...people };
}
