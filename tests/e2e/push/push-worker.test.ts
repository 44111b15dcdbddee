import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCluster } from "@/dev/postgres";
import { applyMigrations } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { newDataDir, startAndFail, startForTest, startWorkerForTest } from "@/tests/support/process/service";
import { type Apns, startApns } from "@/tests/support/push/apns";
import { BUNDLE_ID } from "@/tests/support/push/push";

const SERVER = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough" };

test("npm run worker rejects an embedded database", async () => {
  const embedded = await startAndFail({ DATA_DIR: await newDataDir() }, "worker");
  expect(embedded).toMatchObject({ code: 1, output: expect.stringContaining("DATABASE_URL is not set") });
});

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test("the worker sends what a service with PUSH_WORKER=off does not, and on SIGTERM requeues what it has not started", async () => {
    const { apns, database, env } = await setUp();
    const service = await startForTest({ ...env, PUSH_WORKER: "off" });
    await queue(database, 30);
    const worker = await startWorkerForTest({ ...env, PUSH_CONCURRENCY: "10" });
    await expect.poll(() => states(database)).toEqual({ sent: 30 });
    expect(apns.sessions.size).toBe(1);
    const answer = holdReplies(apns, 10);
    await queue(database, 30);
    await expect.poll(() => apns.received.length).toBe(40);
    const ended = worker.end("SIGTERM");
    await expect.poll(() => worker.output()).toContain("stopping");
    answer();
    expect(await ended).toBe(0);
    expect(await service.end("SIGTERM")).toBe(0);
    expect(await states(database)).toEqual({ sent: 40, queued: 20 });
  });

  test("two workers share the deliveries, each sent once", async () => {
    const { apns, database, env } = await setUp();
    const variables = { ...env, PUSH_CONCURRENCY: "10" };
    await Promise.all([startWorkerForTest(variables), startWorkerForTest(variables)]);
    const answer = holdReplies(apns, 20);
    await queue(database, 500);
    await expect.poll(() => apns.received.length).toBe(20); // ten of each
    answer();
    await expect.poll(() => states(database)).toEqual({ sent: 500 });
    expect(timesSent(apns)).toEqual({ ids: 500, most: 1 });
    expect(apns.rejected).toEqual([]);
  });

  test("a worker killed with more than one batch of leased deliveries loses none; each is sent at most twice", async () => {
    const { apns, database, env } = await setUp();
    const worker = await startWorkerForTest({ ...env, PUSH_CONCURRENCY: "10" }); // its batches have 100
    apns.replyWith("*", ...Array(30).fill({ status: 200 }), ...Array(300).fill("silence"));
    await queue(database, 300);
    await expect.poll(async () => (await states(database)).sending ?? 0).toBeGreaterThan(100);
    await expect.poll(async () => (await states(database)).sent ?? 0).toBe(30);
    await worker.end("SIGKILL");
    const { sent, queued = 0, sending = 0, ...others } = await states(database);
    expect({ sum: (sent ?? 0) + queued + sending, others }).toEqual({ sum: 300, others: {} });

    apns.replyWith("*");
    await database.query(
      `UPDATE "QueuedPush" SET "leaseUntil" = now() - interval '1 second' WHERE "leaseUntil" IS NOT NULL`,
    );
    await startWorkerForTest(env);
    await expect.poll(() => states(database)).toEqual({ sent: 300 });
    expect(timesSent(apns)).toEqual({ ids: 300, most: 2 });
  });

  test("no delivery is lost when the database restarts during a burst", async () => {
    const cluster = await startCluster();
    onTestFinished(cluster.remove);
    await applyMigrations(migrationAdapter(cluster.url));
    const { apns, database, env } = await setUp(cluster.url);
    const worker = await startWorkerForTest({ ...env, PUSH_CONCURRENCY: "10" });
    const answer = holdReplies(apns, 10, 100);
    await queue(database, 500);
    await expect.poll(() => apns.received.length).toBe(110);
    await database.end();
    cluster.stop();
    answer();
    await expect.poll(() => worker.output()).toMatch(/could not read the push outbox|could not store the outcomes/);
    cluster.start();
    const again = await connect(cluster.url);
    await expect
      .poll(async () => {
        await again.query(`UPDATE "QueuedPush" SET "leaseUntil" = now() - interval '1 second'
          WHERE "leaseUntil" < now() + interval '55 seconds'`);
        return states(again);
      })
      .toEqual({ sent: 500 });
    expect(timesSent(apns).ids).toBe(500);
    expect(await worker.end("SIGTERM")).toBe(0);
  });
});

/** Starts an APNs, connects to a database, by default an empty one, and sets the variables of both. */
async function setUp(url?: string) {
  const [apns, DATABASE_URL] = await Promise.all([startApns(), url ?? createMigratedDatabase()]);
  return { apns, database: await connect(DATABASE_URL), env: { ...apns.env, ...SERVER, DATABASE_URL } };
}

/** Holds the replies to the next pushes, after some that are accepted at once. Returns what accepts those held. */
function holdReplies(apns: Apns, held: number, accepted = 0): () => void {
  let accept = () => {};
  const later = new Promise<{ status: number }>((resolve) => {
    accept = () => resolve({ status: 200 });
  });
  apns.replyWith("*", ...Array(accepted).fill({ status: 200 }), ...Array(held).fill(later));
  return accept;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {}); // a test stops the server
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** So many devices, and a notification for each in the outbox. */
async function queue(database: Client, count: number): Promise<void> {
  const key = randomUUID();
  await database.query(
    `WITH account AS (
       INSERT INTO "Account" ("id", "email", "updatedAt") VALUES (gen_random_uuid(), $1 || '@example.com', now())
       RETURNING "id"
     ), device AS (
       INSERT INTO "PushDevice" ("id", "accountId", "environment", "bundleId", "token", "status", "registeredAt", "lastSeenAt")
       SELECT gen_random_uuid(), account."id", 'production', $2, encode(sha256(($1 || n)::bytea), 'hex'), 'active', now(), now()
       FROM account, generate_series(1, $3) AS n RETURNING "id"
     ), message AS (
       INSERT INTO "PushMessage" ("id", "eventKey", "kind", "payload", "priority", "expiresAt")
       SELECT gen_random_uuid(), $1, 'custom', '{"aps":{"alert":{"title":"A"}},"data":{"v":1}}', 10, now() + interval '1 day'
       RETURNING "id", "expiresAt"
     )
     INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
     SELECT device."id", message."id", gen_random_uuid(), now(), message."expiresAt", 1 FROM device, message`,
    [key, BUNDLE_ID, count],
  );
}

async function states(database: Client): Promise<Record<string, number>> {
  const { rows } = await database.query<{ state: string; count: number }>(
    `SELECT "state", count(*)::int FROM (
       SELECT CASE WHEN "leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END AS "state" FROM "QueuedPush"
       UNION ALL SELECT "state"::text FROM "PushReceipt"
     ) AS delivery GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

function timesSent({ received }: Apns): { ids: number; most: number } {
  const times = new Map<string, number>();
  for (const { id } of received) times.set(id, (times.get(id) ?? 0) + 1);
  return { ids: times.size, most: Math.max(...times.values()) };
}
