import type { Tx } from "../../context";
import { withRetry } from "../../db/with-retry";
import { isAppError, isDatabaseUnavailable } from "../../errors";
import { toStorableText } from "../../storable-text";
import { type Applied, type ApplyDeps, applyInTransaction } from "./apply-in-transaction";
import { completeEvents } from "./complete-events";
import type { EventToApply } from "./lock-event";

const MAX_REASON_LENGTH = 500;
/** Attempts of the background retry, over about five hours. After them a failed event waits for an operator. */
const MAX_ATTEMPTS = 10;

/**
 * `isReplay`: apply the event even if it is processed. `timeoutMs` replaces the default time-out of a transaction.
 * `inTransaction` runs in it, after the event was applied.
 */
type Options = {
  isReplay?: boolean;
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
  await finishEvents(deps, [event]); // after a duplicate too: the process may have been killed before this step
  return applied;
}

/** What follows the commit of events that were applied: see `completeEvents`. */
export async function finishEvents(deps: ApplyDeps, events: readonly EventToApply[]): Promise<void> {
  const again = await completeEvents(deps, events);
  for (const event of events) if (again.includes(event)) await applyOrMarkFailed(deps, event, { isReplay: true });
}

async function applyOrMarkFailed(
  deps: ApplyDeps,
  event: EventToApply,
  { isReplay = false, timeoutMs: timeout, inTransaction }: Options,
): Promise<Applied> {
  const { db, log } = deps;
  const { provider, eventId } = event;
  try {
    const apply = async (tx: Tx) => {
      const applied = await applyInTransaction(deps, tx, event, isReplay);
      await inTransaction?.(tx, applied);
      return applied;
    };
    return await withRetry(() => db.$transaction(apply, { timeout }));
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
