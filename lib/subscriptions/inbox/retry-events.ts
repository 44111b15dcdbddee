import type { Context } from "../../context";
import { possibleAccountIds } from "../app-user-ids";
import { applyEvent } from "./apply-event";
import type { EventKey } from "./lock-event";

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "isDraining" | "log" | "now" | "webhooks">;
type ClaimedEvent = EventKey & { appUserIds: string[]; transferredFrom: string[]; attempts: number };

/** Longer than the 10 s of a delivery's transaction, for events that take longer to apply. */
const TIMEOUT_MS = 30_000;

/**
 * Applies events that are stored but not applied, because the process was killed or the database timed out; the
 * provider may have stopped its own retries. An event is retried two minutes after it arrived, then after one more
 * minute, two, four, and so on, up to an hour, and does not delay others. An event that fails is retried too, at most
 * ten times. Several processes may do this at the same time.
 */
export async function retryEvents(deps: Deps): Promise<void> {
  while (!deps.isDraining) {
    const event = await claim(deps);
    if (!event) return;
    const { provider, eventId, attempts, appUserIds, transferredFrom } = event;
    const accountIds = possibleAccountIds(appUserIds.filter((id) => !transferredFrom.includes(id)));
    try {
      const { status } = await applyEvent(deps, { provider, eventId, accountIds }, { timeoutMs: TIMEOUT_MS });
      if (status !== "failed") deps.log.info({ eventId, attempts, status }, "a pending billing event was applied");
    } catch (error) {
      deps.log.warn({ err: error, eventId, attempts }, "a pending billing event was not applied: it will be retried");
    }
  }
}

/** Claims the event that has been due longest, and schedules its next attempt by the database's clock. */
async function claim({ db, dbNow }: Deps): Promise<ClaimedEvent | undefined> {
  const [row] = await db.$queryRaw<ClaimedEvent[]>`
    UPDATE "BillingEvent" SET attempts = attempts + 1,
      "nextAttemptAt" = ${dbNow()} + LEAST(interval '1 minute' * power(2, LEAST(attempts, 6)), interval '1 hour')
    WHERE id = (
      SELECT id FROM "BillingEvent" WHERE state IN ('received', 'failed') AND "nextAttemptAt" <= ${dbNow()}
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING provider, "eventId", "appUserIds", "transferredFrom", attempts`;
  return row;
}
