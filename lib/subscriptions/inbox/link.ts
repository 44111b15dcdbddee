import type { Context } from "../../context";
import { isDatabaseUnavailable } from "../../errors";
import { again } from "./attempts";
import { connectedPeople } from "./identity-changes";
import { lockLines, refoldLine } from "./lines";

type Deps = Pick<Context, "db" | "log" | "now">;
type EventKey = { provider: string; eventId: string };
type Line = { id: string; identities: string[] };

/** Lines of one customer that are settled at once. The rest waits for the customer's next event. */
const MAX_LINES = 1_000;

/**
 * Settles anew whose the lines are that an event says more about: it names their customer and one more name, or its own
 * line's customer has one more by another event. RevenueCat, "Webhooks": "make sure to search both the
 * original_app_user_id and the aliases". To be called after the commit of the event: of two that are applied at the
 * same time the later one sees both. Calling it again changes nothing. Each line has a transaction of its own: however
 * many there are, none takes long.
 */
export async function linkAliases(deps: Deps, key: EventKey): Promise<void> {
  const { db, log, now } = deps;
  try {
    const lines = await linesToLink(deps, key);
    if (lines.length === 0) return;
    const names = [...new Set(lines.flatMap(({ identities }) => identities))];
    if ((await connectedPeople(db, key.provider, names)).isCrowd) return;
    for (const { id } of lines) {
      await again(() =>
        db.$transaction(async (tx) => {
          for (const line of await lockLines(tx, [id])) await refoldLine(tx, line, now());
        }),
      );
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error; // the delivery comes again
    log.error({ err: error, eventId: key.eventId }, "the lines of a billing event's customer cannot be linked");
  }
}

/** A line has every name of its customer's: one that shares a name with an event and lacks another is out of date. */
async function linesToLink({ db }: Deps, { provider, eventId }: EventKey): Promise<Line[]> {
  return db.$queryRaw`
    WITH event AS MATERIALIZED (
      SELECT identities, "lineId", "transferredFrom" FROM "BillingEvent"
      WHERE provider = ${provider} AND "eventId" = ${eventId}
    )
    SELECT line.id, line.identities FROM event JOIN "SubscriptionLine" AS line ON line.identities && event.identities
    WHERE line.provider = ${provider} AND NOT event.identities <@ line.identities
      AND cardinality(event."transferredFrom") = 0
    UNION
    SELECT line.id, line.identities FROM event JOIN "SubscriptionLine" AS line ON line.id = event."lineId"
    WHERE EXISTS (
      SELECT 1 FROM "BillingEvent" AS other
      WHERE other.provider = ${provider} AND other.identities && line.identities
        AND NOT other.identities <@ line.identities AND cardinality(other."transferredFrom") = 0)
    LIMIT ${MAX_LINES}::integer`;
}
