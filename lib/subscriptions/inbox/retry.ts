import type { Context } from "../../context";
import { possibleAccountIds } from "../app-user-ids";
import { applyEvent, type EventKey } from "./apply";

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "draining" | "log" | "now">;
type Claimed = EventKey & { appUserIds: string[]; transferredFrom: string[]; attempts: number };

/** A delivery's own transaction gets 10 s. What takes longer than that must succeed at some time, too. */
const TIMEOUT_MS = 30_000;

/**
 * Applies the events that were stored and not applied: the process was killed, or the database did not answer in time,
 * and the provider may have given up by now. An event that cannot be applied yet is tried again after one minute, then
 * two, then four, up to an hour, and does not keep the others waiting. Any number of processes may do this at once.
 */
export async function retryReceived(deps: Deps): Promise<void> {
  while (!deps.draining) {
    const event = await claim(deps);
    if (!event) return;
    const { provider, eventId, attempts, appUserIds, transferredFrom } = event;
    const accountIds = possibleAccountIds(appUserIds.filter((name) => !transferredFrom.includes(name)));
    try {
      const { status } = await applyEvent(deps, { provider, eventId }, accountIds, { timeoutMs: TIMEOUT_MS });
      deps.log.info({ eventId, attempts, status }, "applied a billing event that was left as received");
    } catch (error) {
      deps.log.warn({ err: error, eventId, attempts }, "a billing event cannot be applied yet");
    }
  }
}

/** Takes the event that has been due for longest, and puts its next attempt ahead, by the database's clock. */
async function claim({ db, dbNow }: Deps): Promise<Claimed | undefined> {
  const [row] = await db.$queryRaw<Claimed[]>`
    UPDATE "BillingEvent" SET attempts = attempts + 1,
      "nextAttemptAt" = ${dbNow()} + LEAST(interval '1 minute' * power(2, LEAST(attempts, 6)), interval '1 hour')
    WHERE id = (
      SELECT id FROM "BillingEvent" WHERE state = 'received' AND "nextAttemptAt" <= ${dbNow()}
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING provider, "eventId", "appUserIds", "transferredFrom", attempts`;
  return row;
}
