import type { Tx } from "../../context";
import type { BillingEventState } from "../../db/generated/client";

/** Events in a page: what reads one statement. */
const PAGE = 250;

/**
 * The ids of the events in these states, or in all, that came until `until`, oldest first, in pages. Each page is one
 * statement that reads its own rows by the index on state and receipt.
 */
export async function* eventPages(
  db: Tx,
  until: Date,
  states: readonly BillingEventState[] | null = null,
): AsyncGenerator<string[]> {
  let last = { receivedAt: new Date(0), id: "00000000-0000-0000-0000-000000000000" };
  for (;;) {
    const page = await db.$queryRaw<(typeof last)[]>`
      SELECT event.id, event."receivedAt"
      FROM unnest(coalesce(${states}::"BillingEventState"[], enum_range(NULL::"BillingEventState"))) AS wanted (state)
      CROSS JOIN LATERAL (
        SELECT id, "receivedAt" FROM "BillingEvent"
        WHERE state = wanted.state AND "receivedAt" BETWEEN ${last.receivedAt}::timestamptz AND ${until}::timestamptz
          AND ("receivedAt", id) > (${last.receivedAt}::timestamptz, ${last.id}::uuid)
        ORDER BY "receivedAt", id LIMIT ${PAGE}::integer
      ) AS event
      ORDER BY event."receivedAt", event.id LIMIT ${PAGE}::integer`;
    const end = page.at(-1);
    if (!end) return;
    yield page.map(({ id }) => id);
    last = end;
  }
}
