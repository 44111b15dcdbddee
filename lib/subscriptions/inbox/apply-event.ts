import type { Tx } from "../../context";
import { isAppError } from "../../errors";
import { literals, sql } from "../../platform/db/sql";
import { withRetry } from "../../platform/db/with-retry";
import { isDatabaseUnavailable } from "../../platform/errors/database-errors";
import { toStorableText } from "../../platform/storable-text";
import { possibleAccountIds } from "../app-user-ids";
import { IdentityEventType } from "../events";
import { type Applied, type ApplyDeps, type ApplyOptions, applyInTransaction } from "./apply-in-transaction";
import { type EventKey, type EventToApply, isOfPurchase, keysOf } from "./lock-event";
import { updateOwners } from "./update-owners";

const MAX_REASON_LENGTH = 500;
/** Attempts of the background retry, over about five hours. After them a failed event waits for an operator. */
const MAX_ATTEMPTS = 10;

/**
 * `isReplay`: apply the event even if it is processed, and announce nothing then, unless `shouldAnnounce` is set.
 * `shouldSkipUnprocessed`: apply it only if it is processed. `timeoutMs` replaces the default time-out of a
 * transaction. `inTransaction` runs in it, after the event was applied.
 */
type Options = Partial<ApplyOptions> & {
  timeoutMs?: number;
  inTransaction?: (tx: Tx, applied: Applied) => Promise<void>;
};

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

/**
 * Completes what events changed, after their commit: of two that were applied at the same time, neither saw the other, and
 * the later one to commit now sees both. Idempotent. Returns for each event null, or a promise for what is left to do,
 * which concerns this event only: others need not wait for it, nor fail with it.
 */
export async function finishEvents(deps: ApplyDeps, events: readonly EventKey[]): Promise<(Promise<void> | null)[]> {
  const [concurrent] = await Promise.all([findConcurrentEvents(deps, events), updateOwners(deps, events)]);
  const applied = new Map<string, Promise<unknown>>(); // one transfer may have missed many of the events
  const finish = async (event: EventKey, toReapply: readonly ConcurrentEvent[]) => {
    for (const { missedEvent: _, ...one } of toReapply) {
      const key = `${one.provider}:${one.eventId}`;
      const applying = applied.get(key) ?? applyOrMarkFailed(deps, one, REAPPLY_OPTIONS);
      applied.set(key, applying);
      await applying;
    }
    await updateOwners(deps, [event, ...toReapply]);
  };
  let last = Promise.resolve();
  return events.map((event) => {
    const toReapply = concurrent.filter(
      ({ missedEvent: { provider, eventId } }) => eventId === event.eventId && provider === event.provider,
    );
    if (toReapply.length === 0) return null;
    last = last.catch(() => {}).then(() => finish(event, toReapply));
    return last;
  });
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
  return rows.map(({ missedEvent, provider, eventId, appUserIds, transferredFrom }) => {
    const accountIds = possibleAccountIds(appUserIds.filter((id) => !transferredFrom.includes(id)));
    return { missedEvent, provider, eventId, accountIds };
  });
}

async function applyOrMarkFailed(
  deps: ApplyDeps,
  event: EventToApply,
  { isReplay = false, shouldAnnounce = !isReplay, shouldSkipUnprocessed = false, timeoutMs, inTransaction }: Options,
): Promise<Applied> {
  const { db, log } = deps;
  const { provider, eventId } = event;
  try {
    const apply = async (tx: Tx) => {
      const applied = await applyInTransaction(deps, tx, event, { isReplay, shouldAnnounce, shouldSkipUnprocessed });
      await inTransaction?.(tx, applied);
      return applied;
    };
    return await withRetry(() => db.$transaction(apply, { timeout: timeoutMs }));
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    log.error({ err: error, eventId }, "a billing event failed");
    const count = await db.$executeRaw`
      UPDATE "BillingEvent" SET state = 'failed', reason = ${reasonOf(error)},
        "nextAttemptAt" = CASE WHEN attempts < ${MAX_ATTEMPTS}::int THEN "nextAttemptAt" END
      WHERE provider = ${provider} AND "eventId" = ${eventId} AND state <> 'processed'`;
    return { status: count > 0 || isReplay ? "failed" : "duplicate", toReconcile: [] };
  }
}

/** The last paragraph of an error: Prisma's messages begin with an excerpt of the code. */
function reasonOf(error: unknown): string {
  const paragraphs = String(error).split(/\n{2,}/);
  return toStorableText((paragraphs.at(-1) ?? "").trim().slice(0, MAX_REASON_LENGTH));
}
