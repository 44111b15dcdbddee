import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import {
  isDatabaseUnavailable,
  isReferencedRowMissing,
  isTransactionConflict,
  isUniqueViolation,
} from "../../platform/database-errors";
import { batchWrite } from "../../platform/db/batch-write";
import { literals, sql } from "../../platform/db/sql";
import { withRetry } from "../../platform/db/transaction";
import { toStorableText } from "../../platform/storable";
import { IdentityEventType } from "../events";
import { type Applied, type ApplyDeps, type ApplyOptions, applyEvents } from "./apply";
import { storeImportAliases } from "./imported-accounts";
import { type EventKey, type EventToApply, isOfPurchase, keyOf, keysOf } from "./lock";
import { nameNewEvents } from "./name-accounts";
import { type NewEvent, ownerAccountIds, storeEvent } from "./store";
import { updateOwners } from "./update-owners";

const MAX_REASON_LENGTH = 500;
/** Attempts of the background retry, over about five hours. After them a failed event waits for an operator. */
const MAX_ATTEMPTS = 10;
/** Longer than the 10 s of a delivery's transaction, for events that take longer to apply. */
const RETRY_TIMEOUT_MS = 30_000;

/** `timeoutMs` replaces the default time-out of a transaction. `inTransaction` runs in it, after the event was applied. */
type Options = ApplyOptions & { timeoutMs?: number; inTransaction?: (tx: Tx, applied: Applied) => Promise<void> };
type Outcome = Applied | Promise<Applied>;

/**
 * Stores an event and applies it, together with those that arrive in the same turn of the event loop: one transaction
 * stores them applied. Events that say who owns a customer's purchases follow, each stored first and then applied:
 * while it is being applied, others that concern it must see it. So does each event of a batch that fails, since an
 * event that cannot be applied must not be lost.
 * @throws the database's error if it is not available
 */
export const storeAndApply = batchWrite<ApplyDeps, NewEvent, Applied>({
  processMany: storeAndApplyMany,
  processOne: async (deps, newEvent) => applyEvent(deps, await storeNewEvent(deps, newEvent)),
});

async function storeAndApplyMany(
  deps: ApplyDeps,
  received: readonly NewEvent[],
  processAlone: (event: NewEvent) => Promise<Applied>,
): Promise<Outcome[]> {
  const distinct = new Map<string, NewEvent>();
  for (const event of received) if (!distinct.has(keyOf(event))) distinct.set(keyOf(event), event);
  const ofPurchases = [...distinct.values()].filter(({ event }) => event.facts.identityChange === null);
  const outcomes = await applyTogether(deps, ofPurchases);
  for (const [key, event] of distinct) if (!outcomes.has(key)) outcomes.set(key, processAlone(event));
  return received.map((event) => {
    const outcome = outcomes.get(keyOf(event)) as Outcome;
    return distinct.get(keyOf(event)) === event ? outcome : repeated(outcome);
  });
}

/** Returns the outcomes of those events that were applied; a promise for one that is not finished. */
async function applyTogether(deps: ApplyDeps, newEvents: readonly NewEvent[]): Promise<Map<string, Outcome>> {
  if (newEvents.length === 0) return new Map();
  const outcomes = await inTransaction(deps, async (tx): Promise<Map<string, Outcome>> => {
    const named = await nameNewEvents(tx, newEvents);
    const toApply = named.map((newEvent) => ({ ...toStored(newEvent), newEvent }));
    return new Map(await applyEvents(deps, tx, toApply));
  });
  const done = newEvents.filter((event) => outcomes.has(keyOf(event)));
  const unfinished = await finishEvents(deps, done);
  for (const [i, event] of done.entries()) {
    const outcome = outcomes.get(keyOf(event)) as Outcome;
    outcomes.set(keyOf(event), unfinished[i]?.then(() => outcome) ?? outcome);
  }
  return outcomes;
}

/** Stores an event, with its accounts named, to be applied. Leaves one that is stored already as it is. */
export async function storeNewEvent(
  { db, dbNow }: Pick<ApplyDeps, "db" | "dbNow">,
  newEvent: NewEvent,
): Promise<EventToApply> {
  return withRetry(() =>
    db.$transaction(async (tx) => {
      const [named = newEvent] = await nameNewEvents(tx, [newEvent]);
      await storeEvent({ db: tx, dbNow }, named);
      return toStored(named);
    }),
  );
}

const toStored = ({ provider, eventId, event }: NewEvent): EventToApply => ({
  provider,
  eventId,
  accountIds: ownerAccountIds(event),
});

/** The outcome of a second delivery of an event in the same batch. */
async function repeated(first: Outcome): Promise<Applied> {
  const { status } = await first;
  return { status: status === "processed" ? "duplicate" : status, toReconcile: [] };
}

/**
 * Runs a transaction, and repeats it if another one has stored one of its events, or created one of their purchases: the
 * next attempt finds it. Of several batches that run at the same time, one may lose to each of the others.
 */
export function inTransaction<T>(
  { db }: Pick<ApplyDeps, "db">,
  run: (tx: Tx) => Promise<T>,
  timeout?: number,
): Promise<T> {
  const isOvertaken = (error: unknown) =>
    isTransactionConflict(error) || isUniqueViolation(error) || isReferencedRowMissing(error);
  return withRetry(() => db.$transaction(run, { timeout }), isOvertaken);
}

/**
 * Applies a stored event to its purchase, unless it is processed already. An event that cannot be applied is marked
 * failed, with the reason. The background retry applies it again, `MAX_ATTEMPTS` times, then an operator may replay it.
 * @throws AppError unavailable if the event is not stored, and the database's error if it is not available
 */
export async function applyEvent(deps: ApplyDeps, event: EventToApply, options: Options = {}): Promise<Applied> {
  const applied = await applyOrMarkFailed(deps, event, options);
  // After a duplicate too: the process may have been killed before this step.
  await Promise.all(await finishEvents(deps, [event]));
  return applied;
}

async function applyOrMarkFailed(
  deps: ApplyDeps,
  event: EventToApply,
  { timeoutMs, inTransaction: also, ...options }: Options,
): Promise<Applied> {
  const apply = async (tx: Tx) => {
    const applied = (await applyEvents(deps, tx, [event], options)).get(keyOf(event));
    if (!applied) throw new AppError("unavailable");
    await also?.(tx, applied);
    return applied;
  };
  try {
    return await inTransaction(deps, apply, timeoutMs);
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    const { provider, eventId } = event;
    deps.log.error({ err: error, eventId }, "a billing event failed");
    const count = await deps.db.$executeRaw`
      UPDATE "BillingEvent" SET state = 'failed', reason = ${reasonOf(error)},
        "nextAttemptAt" = CASE WHEN attempts < ${MAX_ATTEMPTS}::int THEN "nextAttemptAt" END
      WHERE provider = ${provider} AND "eventId" = ${eventId} AND state <> 'processed'`;
    return { status: count > 0 || options.isReplay ? "failed" : "duplicate", toReconcile: [] };
  }
}

/** The last paragraph of an error: Prisma's messages begin with an excerpt of the code. */
function reasonOf(error: unknown): string {
  const paragraphs = String(error).split(/\n{2,}/);
  return toStorableText((paragraphs.at(-1) ?? "").trim().slice(0, MAX_REASON_LENGTH));
}

/**
 * Completes what events changed, after their commit: of two that were applied at the same time, neither saw the other, and
 * the later one to commit now sees both. Idempotent. Returns for each event null, or a promise for what is left to do,
 * which concerns this event only: others need not wait for it, nor fail with it.
 */
async function finishEvents(deps: ApplyDeps, events: readonly EventKey[]): Promise<(Promise<void> | null)[]> {
  await linkImportedAccounts(deps, { events });
  const [concurrent] = await Promise.all([findConcurrentEvents(deps, events), updateOwners(deps, events)]);
  const applied = new Map<string, Promise<unknown>>(); // one transfer may have missed many of the events
  const finish = async (event: EventKey, toReapply: readonly ConcurrentEvent[]) => {
    for (const { missedEvent: _, ...one } of toReapply) {
      const applying = applied.get(keyOf(one)) ?? applyOrMarkFailed(deps, one, REAPPLY_OPTIONS);
      applied.set(keyOf(one), applying);
      await applying;
    }
    await updateOwners(deps, [event, ...toReapply]);
  };
  let last = Promise.resolve();
  return events.map((event) => {
    const toReapply = concurrent.filter(({ missedEvent }) => keyOf(missedEvent) === keyOf(event));
    if (toReapply.length === 0) return null;
    last = last.catch(() => {}).then(() => finish(event, toReapply));
    return last;
  });
}

/** Links imported accounts to events that were stored before, or while, they were imported. */
export async function linkImportedAccounts(
  deps: ApplyDeps,
  which: Parameters<typeof storeImportAliases>[1],
): Promise<void> {
  for (const alias of await storeImportAliases(deps, which)) await applyEvent(deps, alias);
}

const REAPPLY_OPTIONS = { isReplay: true, shouldAnnounce: true, shouldSkipUnprocessed: true };

/** Events applied at the same time were received less than this apart, or applied again, by the clocks of two processes. */
const CONCURRENT_WITHIN = "1 hour";

/** An event to apply again, and the one that it may have missed. */
type ConcurrentEvent = EventToApply & { missedEvent: EventKey };

/**
 * Finds the events to apply again: transfers that may have missed the purchases of these events, and those of these events
 * that have a sibling, an event of the same transaction, in another purchase, although only one of the two names its
 * original transaction. One transfer of a purchase that is processed is enough, since it reads the others. Others may be
 * just being applied.
 */
async function findConcurrentEvents({ db }: ApplyDeps, events: readonly EventKey[]): Promise<ConcurrentEvent[]> {
  type Row = EventKey & { missedEvent: EventKey; appUserIds: string[]; transferredFrom: string[] };
  const unprocessed = sql`CASE WHEN transfer.state <> 'processed' THEN transfer.id END`;
  const rows = await db.$queryRaw<Row[]>`
    WITH event AS MATERIALIZED (
      SELECT "BillingEvent".* FROM ${keysOf(events)} JOIN "BillingEvent" USING (provider, "eventId")
    )
    SELECT jsonb_build_object('provider', event.provider, 'eventId', event."eventId") AS "missedEvent", found.*
    FROM event CROSS JOIN LATERAL (
      SELECT event.provider, event."eventId", event."appUserIds", event."transferredFrom"
      FROM "BillingEvent" AS sibling
      WHERE sibling."transactionId" = event."transactionId" AND sibling.provider IS NOT DISTINCT FROM event.provider
        AND sibling.environment IS NOT DISTINCT FROM event.environment AND sibling.store IS NOT DISTINCT FROM event.store
        AND sibling.state::text IN ('received', 'processed') AND sibling."purchaseId" IS DISTINCT FROM event."purchaseId"
        AND ${isOfPurchase("event")} AND ${isOfPurchase("sibling")}
        AND sibling."originalTransactionId" <> event."originalTransactionId"
        AND event."transactionId" IN (sibling."originalTransactionId", event."originalTransactionId")
      UNION
      (SELECT DISTINCT ON (${unprocessed})
        transfer.provider, transfer."eventId", transfer."appUserIds", transfer."transferredFrom"
      FROM "Purchase" AS purchase JOIN "BillingEvent" AS transfer ON transfer."appUserIds" && purchase."appUserIds"
        AND transfer."transferredFrom" && purchase."appUserIds"
      WHERE purchase.id = event."purchaseId" AND transfer.provider IS NOT DISTINCT FROM event.provider
        AND transfer.type IN (${literals(IdentityEventType.options)})
        AND GREATEST(transfer."receivedAt", transfer."processedAt")
          > event."receivedAt" - ${CONCURRENT_WITHIN}::interval
      ORDER BY ${unprocessed}, transfer."occurredAt" DESC)
    ) AS found`;
  return rows.map((row) => {
    const { missedEvent, provider, eventId } = row;
    return { missedEvent, provider, eventId, accountIds: ownerAccountIds(row) };
  });
}

type RetryDeps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "isDraining" | "log" | "now" | "webhooks">;
type ClaimedEvent = EventKey & { appUserIds: string[]; transferredFrom: string[]; attempts: number };

/**
 * Applies events that are stored but not applied, because the process was killed or the database timed out; the
 * provider may have stopped its own retries. An event is retried two minutes after it arrived, then after one more
 * minute, two, four, and so on, up to an hour, and does not delay others. An event that fails is retried too, at most
 * ten times. Several processes may do this at the same time.
 */
export async function retryEvents(deps: RetryDeps): Promise<void> {
  while (!deps.isDraining) {
    const event = await claim(deps);
    if (!event) return;
    const { provider, eventId, attempts } = event;
    const accountIds = ownerAccountIds(event);
    try {
      const { status } = await applyEvent(deps, { provider, eventId, accountIds }, { timeoutMs: RETRY_TIMEOUT_MS });
      if (status !== "failed") deps.log.info({ eventId, attempts, status }, "a pending billing event was applied");
    } catch (error) {
      deps.log.warn({ err: error, eventId, attempts }, "a pending billing event was not applied: it will be retried");
    }
  }
}

/** Claims the event that has been due longest, and schedules its next attempt by the database's clock. */
async function claim({ db, dbNow }: RetryDeps): Promise<ClaimedEvent | undefined> {
  const [row] = await db.$queryRaw<ClaimedEvent[]>`
    UPDATE "BillingEvent" SET attempts = attempts + 1,
      "nextAttemptAt" = ${dbNow()} + LEAST(interval '1 minute' * power(2, LEAST(attempts, 6)), interval '1 hour')
    WHERE id = (
      SELECT id FROM "BillingEvent" WHERE state IN ('received', 'failed') AND "nextAttemptAt" <= ${dbNow()}
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING provider, "eventId", "appUserIds", "transferredFrom", attempts`;
  return row;
}
