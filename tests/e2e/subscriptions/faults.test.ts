import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startProxy } from "@/tests/support/network/proxy";
import { type Service, startForTest, startService } from "@/tests/support/process/service";
import { anonymous, billingEvent, deliverTo, type Sent } from "@/tests/support/subscriptions/billing";

const POLL = { timeout: 60_000, interval: 10 };

const outcome = async (service: Service, event: Sent) =>
  ((await (await deliverTo(service, event)).json()) as { status: string }).status;

const serve = (url: string) => startForTest({ DATABASE_URL: url });

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {}); // its server is taken away
  await client.connect();
  return client;
}

type Row = { state: string; purchase: string | null };
const readEvent = async (client: Client, { id }: Sent): Promise<Row | undefined> =>
  (
    await client.query<Row>(`SELECT state::text, "purchaseId" AS purchase FROM "BillingEvent" WHERE "eventId" = $1`, [
      id,
    ])
  ).rows[0];

/**
 * A purchase, and an event of it whose application waits: another connection holds the purchase. Then as many transactions
 * wait as `waiting` says.
 */
async function waitingEvent(
  service: Service,
  url: string,
  type: "CANCELLATION" | "TRANSFER" = "CANCELLATION",
  waiting = 1,
) {
  const purchase = { app_user_id: anonymous(), original_transaction_id: randomUUID() };
  const bought = billingEvent("INITIAL_PURCHASE", purchase);
  expect(await outcome(service, bought)).toBe("processed");
  const holder = await connected(url);
  await holder.query("BEGIN");
  await holder.query(`SELECT id FROM "Purchase" WHERE "originalTransactionId" = $1 FOR UPDATE`, [
    purchase.original_transaction_id,
  ]);
  const transfer = { transferred_from: [purchase.app_user_id], transferred_to: [anonymous()] };
  const refund = { ...purchase, cancel_reason: "CUSTOMER_SUPPORT" };
  const event = billingEvent(type, type === "TRANSFER" ? transfer : refund);
  const answer = deliverTo(service, event).catch((error: Error) => error);
  await expect.poll(() => countWaiting(holder), POLL).toBe(waiting);
  return { purchase, event, answer, holder };
}

/** The number of the database's transactions that wait for a lock. */
async function countWaiting(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`
    SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`);
  return rows[0]?.count ?? 0;
}

async function isRefunded(
  url: string,
  { original_transaction_id: id }: { original_transaction_id: string },
): Promise<boolean> {
  const client = await connected(url);
  const sql = `SELECT "refundedAt" IS NOT NULL AS refunded FROM "Purchase" WHERE "originalTransactionId" = $1`;
  const { rows } = await client.query<{ refunded: boolean }>(sql, [id]);
  await client.end();
  return rows[0]?.refunded ?? false;
}

const CONNECTIONS = 16;

/**
 * Keeps many deliveries in flight until the service stops responding. `sent` and `acknowledged` are their events so far;
 * `ended` resolves when the last delivery has failed.
 */
function deliverUnderLoad(service: Service) {
  const sent: Sent[] = [];
  const acknowledged = new Set<Sent>();
  const client = async () => {
    for (;;) {
      const event = billingEvent("INITIAL_PURCHASE");
      sent.push(event);
      const response = await deliverTo(service, event).catch(() => null);
      if (!response) return;
      if (response.status === 200) acknowledged.add(event);
      else expect(response.status).toBe(503);
    }
  };
  return { sent, acknowledged, ended: Promise.all(Array.from({ length: CONNECTIONS }, client)) };
}

/** Delivers every event again. An acknowledged one was applied before; the others are applied now, or were just before. */
async function redeliver(service: Service, { sent, acknowledged }: ReturnType<typeof deliverUnderLoad>): Promise<void> {
  for (const event of sent) {
    const expected = acknowledged.has(event) ? ["duplicate"] : ["processed", "duplicate"];
    expect(expected).toContain(await outcome(service, event));
  }
}

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test("a kill -9 while events are applied loses nothing: the next deliveries apply them", async () => {
    const url = await createMigratedDatabase();
    const service = await serve(url);
    const refund = await waitingEvent(service, url, "CANCELLATION", 1);
    const transfer = await waitingEvent(service, url, "TRANSFER", 2);
    await service.end("SIGKILL");
    for (const { answer, holder } of [refund, transfer]) {
      expect(await answer).toBeInstanceOf(Error);
      await holder.query("ROLLBACK");
    }
    expect(await readEvent(refund.holder, refund.event)).toBeUndefined();
    expect(await readEvent(transfer.holder, transfer.event)).toEqual({ state: "received", purchase: null });

    const again = await serve(url);
    for (const { event, holder } of [refund, transfer]) {
      expect(await outcome(again, event)).toBe("processed");
      expect(await readEvent(holder, event)).toMatchObject({ state: "processed" });
      expect(await outcome(again, event)).toBe("duplicate");
      await holder.end();
    }
  });

  test("a database that falls silent while an event is applied is 503, and the next delivery applies it", async () => {
    const direct = await createMigratedDatabase();
    const through = new URL(direct);
    const proxy = await startProxy(Number(through.port));
    through.port = String(proxy.port);
    try {
      const service = await serve(through.href);
      const { purchase, event, answer, holder } = await waitingEvent(service, direct);
      proxy.muteOpenConnections();
      expect(await answer).toMatchObject({ status: 503 });
      await holder.query("ROLLBACK");
      await holder.end();
      await expect.poll(async () => (await deliverTo(service, event)).status, POLL).toBe(200);
      expect(await isRefunded(direct, purchase)).toBe(true);
    } finally {
      proxy.close();
    }
  });
});

describe.runIf(postgresUrl)("on a PostgreSQL server that stops", () => {
  let cluster: Cluster;
  let service: Service;

  beforeAll(async () => {
    cluster = await startCluster({ durable: true });
    await applyMigrations(migrationAdapter(cluster.url));
    service = await startService({ DATABASE_URL: cluster.url });
  });
  afterAll(async () => {
    await service.end("SIGKILL");
    cluster.remove();
  });

  test("an event whose database goes away while it is applied is 503, and nothing is half done", async () => {
    const { purchase, event, answer } = await waitingEvent(service, cluster.url);
    cluster.stop();
    expect(await answer).toMatchObject({ status: 503 });
    cluster.start();
    const client = await connected(cluster.url);
    expect(await readEvent(client, event)).toBeUndefined();
    await client.end();
    expect(await isRefunded(cluster.url, purchase)).toBe(false);
    await expect.poll(async () => (await deliverTo(service, event)).status, POLL).toBe(200);
    expect(await isRefunded(cluster.url, purchase)).toBe(true);
  });

  test("a restart of the database under full load loses no acknowledged event", async () => {
    const load = deliverUnderLoad(service);
    for (const count of [1, 2]) {
      await expect.poll(() => load.acknowledged.size, POLL).toBeGreaterThan(2 * count * CONNECTIONS);
      cluster.stop();
      cluster.start();
    }
    const before = load.acknowledged.size;
    await expect.poll(() => load.acknowledged.size, POLL).toBeGreaterThan(before + CONNECTIONS);
    await service.end("SIGKILL");
    await load.ended;
    await redeliver(await serve(cluster.url), load);
  });
});
