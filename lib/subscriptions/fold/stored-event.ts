import { z } from "zod";
import { EventFacts, type PurchaseEvent, PurchaseEventType } from "../events";
import type { OwnerEvent } from "../ownership";

/** The part of an event in the inbox that decides the state and the owner of a purchase. */
export const StoredEvent = z.object({
  eventId: z.string(),
  type: z.string(),
  environment: z.string().nullable(),
  store: z.string().nullable(),
  facts: EventFacts,
  appUserIds: z.array(z.string()),
  transferredFrom: z.array(z.string()),
  accountId: z.string().nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

type OfPurchase<Event> = Event & { type: PurchaseEventType };

/** Whether an event belongs to a purchase, and says something about its state. */
export function isPurchaseEvent<Event extends { type: string }>(event: Event): event is OfPurchase<Event> {
  return PurchaseEventType.safeParse(event.type).success;
}

/** An event as the fold reads it. */
export function toPurchaseEvent({ eventId, type, facts }: OfPurchase<StoredEvent>): PurchaseEvent {
  return { id: eventId, type, ...facts };
}

/** An event of a purchase as it names the purchase's owner. */
export function toOwnerEvent({ eventId, facts, appUserIds }: StoredEvent): OwnerEvent {
  return { id: eventId, occurredAt: facts.occurredAt, appUserIds, transferredFrom: null };
}
