import { beforeAll, expect, test } from "vitest";
import type { Tx } from "@/lib/context";
import { type Position, readBatch } from "@/lib/subscriptions/admin/event-batches";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { exportBilling } from "@/lib/subscriptions/export-billing";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { deliverOk, initialPurchase } from "@/tests/support/subscriptions/billing";

const OTHERS = 5_000;
const DELETED = 40_000;

/** Other people's purchases, one event each, and as many accounts, in tables from which many events were deleted. */
beforeAll(async () => {
  const { db } = ctx();
  await db.$executeRaw`
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, state, "appUserIds", "occurredAt", "receivedAt", facts)
    SELECT gen_random_uuid(), 'revenuecat', 'deleted-' || i, 'RENEWAL', 'processed', '{}', now(), now(), '{}'
    FROM generate_series(1, ${DELETED}::integer) AS i`;
  await db.billingEvent.deleteMany();
  await db.$executeRaw`
    INSERT INTO "Account" (id, email, "updatedAt")
    SELECT gen_random_uuid(), 'other-' || i || '@example.com', now() FROM generate_series(1, ${OTHERS}::integer) AS i`;
  await db.$executeRaw`
    WITH purchase AS (
      INSERT INTO "Purchase" (id, provider, environment, store, "originalTransactionId", "appUserIds",
        "entitlementIds", "updatedAt")
      SELECT gen_random_uuid(), 'revenuecat', 'PRODUCTION', 'APP_STORE', 'other-' || i, ARRAY['other-' || i],
        '{}', now() FROM generate_series(1, ${OTHERS}::integer) AS i
      RETURNING *
    )
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, state, "purchaseId", "appUserIds", "occurredAt", "receivedAt",
      facts)
    SELECT gen_random_uuid(), provider, "originalTransactionId", 'RENEWAL', 'processed', id, "appUserIds", now(),
      now() - interval '1 second' * substr("originalTransactionId", 7)::integer, '{}' FROM purchase`;
  await db.$executeRaw`ANALYZE`;
});

/** How many rows this connection has read of the tables that grow: as it counts for the transaction, and some before. */
async function readSoFar(tx: Tx): Promise<number> {
  const [read] = await tx.$queryRaw<{ rows: number }[]>`
    SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::integer AS rows FROM pg_stat_xact_user_tables
    WHERE relname IN ('Account', 'BillingEvent', 'Purchase')`;
  return read?.rows ?? 0;
}

/** How many rows `run` reads. */
function rowsRead(run: (tx: Tx) => Promise<unknown>): Promise<number> {
  return ctx().db.$transaction(async (tx) => {
    const before = await readSoFar(tx);
    await run(tx);
    return (await readSoFar(tx)) - before;
  });
}

test("an export and a deletion read the account's billing history, however much there is of others'", async () => {
  const { id } = await newAccount();
  await deliverOk(initialPurchase(id));
  expect(await rowsRead((tx) => exportBilling(tx, id))).toBeLessThan(50);
  const remove = async (tx: Tx) => {
    await anonymizeBilling(tx, id);
    await tx.account.delete({ where: { id } });
  };
  expect(await rowsRead(remove)).toBeLessThan(50);
});

test("a replay of everything reads each event once or twice, oldest first", async () => {
  const ids: string[] = [];
  const read = await rowsRead(async (tx) => {
    for (let start: Position | { until: Date } | undefined = { until: ctx().now() }; start; ) {
      const { events, isEnd }: Awaited<ReturnType<typeof readBatch>> = await readBatch(tx, start, {
        states: null,
        take: 250,
      });
      ids.push(...events.map(({ id }) => id));
      start = isEnd ? undefined : events.at(-1);
    }
  });
  const events = await ctx().db.billingEvent.findMany({
    select: { id: true },
    orderBy: [{ receivedAt: "asc" }, { id: "asc" }],
  });
  expect(ids).toEqual(events.map(({ id }) => id));
  expect(read).toBeLessThan(3 * events.length);
});
