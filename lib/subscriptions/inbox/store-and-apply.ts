import { batchWrite } from "../../platform/db/batch-write";
import { withRetry } from "../../platform/db/with-retry";
import {
  isReferencedRowMissing,
  isTransactionConflict,
  isUniqueViolation,
} from "../../platform/errors/database-errors";
import { applyEvent, finishEvents } from "./apply-event";
import type { Applied, ApplyDeps } from "./apply-in-transaction";
import { applyNewEvents } from "./apply-new-events";
import type { EventToApply } from "./lock-event";
import { type NewEvent, ownerAccountIds, storeEvent } from "./store-events";

/**
 * Stores an event and applies it, together with those that arrive in the same turn of the event loop: one transaction
 * stores them applied. Events that say who owns a customer's purchases follow, each stored first and then applied:
 * while it is being applied, others that concern it must see it. So does each event of a batch that fails, since an
 * event that cannot be applied must not be lost.
 * @throws the database's error if it is not available
 */
export const storeAndApply = batchWrite<ApplyDeps, NewEvent, Applied>({
  processMany: storeAndApplyMany,
  processOne: storeAndApplyOne,
});

async function storeAndApplyMany(
  deps: ApplyDeps,
  newEvents: readonly NewEvent[],
  processAlone: (event: NewEvent) => Promise<Applied>,
) {
  const byKey = new Map<string, NewEvent>();
  for (const event of newEvents) if (!byKey.has(keyOf(event))) byKey.set(keyOf(event), event);
  const distinct = [...byKey.values()];
  const applied = await applyTogether(
    deps,
    distinct.filter(({ event }) => event.facts.identityChange === null),
  );
  const results = new Map<string, Outcome>();
  for (const event of distinct) results.set(keyOf(event), applied.get(event) ?? processAlone(event));
  return newEvents.map((event) => {
    const result = results.get(keyOf(event)) as Outcome;
    return byKey.get(keyOf(event)) === event ? result : repeated(result);
  });
}

type Outcome = Applied | Promise<Applied>;

/** Returns the outcomes of those events that were applied; a promise for one that is not finished. */
async function applyTogether(deps: ApplyDeps, newEvents: readonly NewEvent[]): Promise<Map<NewEvent, Outcome>> {
  if (newEvents.length === 0) return new Map();
  const apply = () => deps.db.$transaction((tx) => applyNewEvents(deps, tx, newEvents));
  const outcomes = await withRetry(apply, isOvertaken);
  const applied = newEvents.flatMap((event, i) => (outcomes[i] ? { event, outcome: outcomes[i] } : []));
  const unfinished = await finishEvents(
    deps,
    applied.map(({ event }) => toApply(event)),
  );
  return new Map(applied.map(({ event, outcome }, i) => [event, unfinished[i]?.then(() => outcome) ?? outcome]));
}

/**
 * Whether another transaction has stored one of the events, or created one of their purchases: the next attempt finds
 * it. Of several batches that run at the same time, one may lose to each of the others.
 */
const isOvertaken = (error: unknown) =>
  isTransactionConflict(error) || isUniqueViolation(error) || isReferencedRowMissing(error);

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
async function repeated(first: Outcome): Promise<Applied> {
  const { status } = await first;
  return { status: status === "processed" ? "duplicate" : status, toReconcile: [] };
}
