import { batchWrite } from "../../db/batch-write";
import { withRetry } from "../../db/with-retry";
import { applyBatch, applyEvent } from "./apply-event";
import type { Applied, ApplyDeps } from "./apply-in-transaction";
import type { EventToApply } from "./lock-events";
import { type NewEvent, ownerAccountIds, storeEvents } from "./store-events";

/**
 * Stores an event and applies it, together with those that arrive in the same turn of the event loop: one statement
 * stores them, and one transaction applies them. Two commits, because an event that is being applied must be visible to
 * others that concern it, such as a transfer of its purchase, and because an event that cannot be applied must not be
 * lost. If a batch fails, each of its events is stored and applied alone.
 * @throws the database's error if it is not available
 */
export const storeAndApply = batchWrite<ApplyDeps, NewEvent, Applied>({
  processMany: storeAndApplyMany,
  processOne: storeAndApplyOne,
});

async function storeAndApplyMany(deps: ApplyDeps, newEvents: readonly NewEvent[]) {
  const byKey = new Map<string, NewEvent>();
  for (const event of newEvents) if (!byKey.has(keyOf(event))) byKey.set(keyOf(event), event);
  const distinct = [...byKey.values()];
  const newIds = await storeEvents(deps, distinct);
  const applied = await applyBatch(
    deps,
    distinct.map((event) => toApply(event, newIds)),
  );
  const results = new Map<string, Applied | Promise<Applied>>();
  for (const [i, event] of distinct.entries()) results.set(keyOf(event), applied[i] ?? storeAndApplyOne(deps, event));
  return newEvents.map((event) => {
    const result = results.get(keyOf(event)) as Applied | Promise<Applied>;
    return byKey.get(keyOf(event)) === event ? result : repeated(result);
  });
}

async function storeAndApplyOne(deps: ApplyDeps, newEvent: NewEvent): Promise<Applied> {
  const newIds = await withRetry(() => storeEvents(deps, [newEvent]));
  return applyEvent(deps, toApply(newEvent, newIds));
}

function toApply({ provider, eventId, event }: NewEvent, newIds: Set<string>): EventToApply {
  const facts = newIds.has(eventId) ? event.facts : undefined; // an earlier delivery of the event may have had others
  return { provider, eventId, accountIds: ownerAccountIds(event), facts };
}

const keyOf = ({ provider, eventId }: NewEvent) => `${provider}:${eventId}`;

/** The outcome of a second delivery of an event in the same batch. */
async function repeated(first: Applied | Promise<Applied>): Promise<Applied> {
  const { status } = await first;
  return { status: status === "processed" ? "duplicate" : status, toReconcile: [] };
}
