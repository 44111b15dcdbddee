import { batchWrite } from "../../db/batch-write";
import { withRetry } from "../../db/with-retry";
import { applyEvent, finishEvents } from "./apply-event";
import type { Applied, ApplyDeps } from "./apply-in-transaction";
import { applyNewEvents } from "./apply-new-events";
import type { EventToApply } from "./lock-event";
import { type NewEvent, ownerAccountIds, storeEvent } from "./store-events";

/**
 * Stores an event and applies it, together with those that arrive in the same turn of the event loop: one transaction
 * stores them applied. Events that say who owns a customer's purchases follow, each stored first and then applied: while it
 * is being applied, others that concern it must see it. So does each event of a batch that fails, since an event that
 * cannot be applied must not be lost.
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
  const applied = await applyTogether(
    deps,
    distinct.filter(({ event }) => event.facts.identityChange === null),
  );
  const results = new Map<string, Applied | Promise<Applied>>();
  for (const event of distinct) results.set(keyOf(event), applied.get(event) ?? storeAndApplyOne(deps, event));
  return newEvents.map((event) => {
    const result = results.get(keyOf(event)) as Applied | Promise<Applied>;
    return byKey.get(keyOf(event)) === event ? result : repeated(result);
  });
}

/** Returns the outcomes of those events that were applied. */
async function applyTogether(deps: ApplyDeps, newEvents: readonly NewEvent[]): Promise<Map<NewEvent, Applied>> {
  if (newEvents.length === 0) return new Map();
  // The second attempt finds what another transaction has stored meanwhile.
  const outcomes = await withRetry(() => deps.db.$transaction((tx) => applyNewEvents(deps, tx, newEvents)));
  const applied = new Map<NewEvent, Applied>();
  for (const [i, event] of newEvents.entries()) if (outcomes[i]) applied.set(event, outcomes[i]);
  await finishEvents(deps, [...applied.keys()].map(toApply));
  return applied;
}

async function storeAndApplyOne(deps: ApplyDeps, newEvent: NewEvent): Promise<Applied> {
  const isNew = await withRetry(() => storeEvent(deps, newEvent));
  // An earlier delivery of the event may have had other facts.
  return applyEvent(deps, { ...toApply(newEvent), facts: isNew ? newEvent.event.facts : undefined });
}

function toApply({ provider, eventId, event }: NewEvent): EventToApply {
  return { provider, eventId, accountIds: ownerAccountIds(event) };
}

const keyOf = ({ provider, eventId }: NewEvent) => `${provider}:${eventId}`;

/** The outcome of a second delivery of an event in the same batch. */
async function repeated(first: Applied | Promise<Applied>): Promise<Applied> {
  const { status } = await first;
  return { status: status === "processed" ? "duplicate" : status, toReconcile: [] };
}
