import type { Tx } from "../../context";
import type { BillingEventState } from "../../db/generated/client";

const PAGE_SIZE = 250;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Pages through the ids of the events that were received by `until`, oldest first; of all states without `states`. Each
 * page is one statement, which reads only its own rows by the index on state and time.
 */
export async function* eventPages(
  db: Tx,
  until: Date,
  states: readonly BillingEventState[] | null = null,
): AsyncGenerator<string[]> {
  let last = { receivedAt: new Date(0), id: NIL_ID };
  for (;;) {
    const page = await db.$queryRaw<(typeof last)[]>`
      SELECT event.id, event."receivedAt"
      FROM unnest(coalesce(${states}::"BillingEventState"[], enum_range(NULL::"BillingEventState"))) AS selected (state)
      CROSS JOIN LATERAL (
        SELECT id, "receivedAt" FROM "BillingEvent"
        WHERE state = selected.state AND "receivedAt" BETWEEN ${last.receivedAt}::timestamptz AND ${until}::timestamptz
          AND ("receivedAt", id) > (${last.receivedAt}::timestamptz, ${last.id}::uuid)
        ORDER BY "receivedAt", id LIMIT ${PAGE_SIZE}::integer
      ) AS event
      ORDER BY event."receivedAt", event.id LIMIT ${PAGE_SIZE}::integer`;
    const end = page.at(-1);
    if (!end) return;
    yield page.map(({ id }) => id);
    last = end;
  }
}
