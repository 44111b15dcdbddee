import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedAdapter } from "@/lib/platform/db/embedded/adapter";
import { applyMigrations, migrationNames } from "@/lib/platform/db/migrations";
import { openPGlite } from "@/tests/support/database";

type PGlite = Awaited<ReturnType<typeof openPGlite>>;

const [ann, gone] = [randomUUID(), randomUUID()];
const devices = [randomUUID(), randomUUID()];
const AT = "2026-11-20T10:00:00Z";
let pglite: PGlite;

const rowsOf = async (query: string, values: unknown[] = []) => (await pglite.query(query, values)).rows;

/** Writes an event as version 1.0 does, and returns its id. */
async function writeEvent(accountId: string, type: string, userAgent = "Homeport/1.0"): Promise<string> {
  const insert = `INSERT INTO "SecurityEvent" ("id", "accountId", "type", "at", "userAgent", "network")
    VALUES ($1, $2, $3, $4, $5, '192.0.2.0/24') RETURNING "id"`;
  const rows = await rowsOf(insert, [randomUUID(), accountId, type, AT, userAgent]);
  return (rows as { id: string }[])[0]?.id ?? "";
}

/** Writes a delivery as version 1.0 does. */
function writeDelivery(device: number, eventKey: string, kind: string, state: string, changed: object = {}) {
  const row = {
    id: randomUUID(),
    eventKey,
    deviceId: devices[device],
    kind,
    payload: { aps: {} },
    priority: 10,
    state,
  };
  const times = { expiresAt: "2026-11-20T11:00:00Z", nextAttemptAt: AT, createdAt: AT };
  return pglite.query(`INSERT INTO "PushDelivery" SELECT * FROM jsonb_populate_record(NULL::"PushDelivery", $1)`, [
    { attempts: 0, ...row, ...times, ...changed },
  ]);
}

/** The events of an account in the audit trail, oldest first. */
const trailOf = (accountId: string) =>
  rowsOf(`SELECT "type", "actor", "network", "userAgent" FROM "AuditEvent" WHERE "accountId" = $1 ORDER BY "type"`, [
    accountId,
  ]);

beforeAll(async () => {
  pglite = await openPGlite();
  await pglite.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  const [baseline = "", ...later] = await migrationNames();
  const adapter = await embeddedAdapter(pglite);
  await applyMigrations(adapter, [baseline]);
  await pglite.query(`INSERT INTO "Account" ("id", "email", "updatedAt") VALUES ($1, 'ann@example.com', now())`, [ann]);
  for (const id of devices) {
    await pglite.query(
      `INSERT INTO "PushDevice" ("id", "accountId", "token", "bundleId", "environment", "registeredAt", "lastSeenAt")
       VALUES ($1::uuid, $2, $1::uuid::text, 'com.example', 'production', now(), now())`,
      [id, ann],
    );
  }
  await writeEvent(ann, "signed_in");
  await writeEvent(ann, "signed_out", "operator");
  await writeEvent(gone, "signed_in");
  await writeEvent(gone, "account_deleted", "operator");
  await writeDelivery(0, "renewed", "billing.renewed", "queued", { attempts: 2, apnsStatus: 503, reason: "Shutdown" });
  await writeDelivery(0, "challenge", "push.challenge", "sent", { attempts: 1, apnsStatus: 200, sentAt: AT });
  await writeDelivery(1, "abandoned", "custom", "sending", { leaseUntil: AT });
  await writeDelivery(1, "expired", "billing.expired", "sending", { leaseUntil: "infinity" });
  for (const device of [0, 1]) await writeDelivery(device, "version:2", "app.new_version", "queued");
  expect(await applyMigrations(adapter, [baseline, ...later])).toEqual(later);
});
afterAll(() => pglite.close());

test("security events of version 1.0 are in the audit trail", async () => {
  expect(await trailOf(ann)).toEqual([
    { type: "signed_in", actor: "account", network: "192.0.2.0/24", userAgent: "Homeport/1.0" },
    { type: "signed_out", actor: "operator", network: "192.0.2.0/24", userAgent: null },
  ]);
});

test("those of an account that version 1.0 deleted share a pseudonym, without network and client", async () => {
  expect(await trailOf(gone)).toEqual([]);
  const [{ pseudonym }] = (await rowsOf(`SELECT "accountId" AS "pseudonym" FROM "AuditEvent"
    WHERE "type" = 'account_deleted'`)) as [{ pseudonym: string }];
  expect(await trailOf(pseudonym)).toEqual([
    { type: "account_deleted", actor: "operator", network: null, userAgent: null },
    { type: "signed_in", actor: "account", network: null, userAgent: null },
  ]);
});

test("an instance of version 1.0 that still runs writes to the audit trail, also when it deletes an account", async () => {
  const bob = randomUUID();
  await pglite.query(`INSERT INTO "Account" ("id", "email", "updatedAt") VALUES ($1, 'bob@example.com', now())`, [bob]);
  expect(await writeEvent(bob, "registered")).not.toBe("");
  expect(await trailOf(bob)).toMatchObject([{ type: "registered", userAgent: "Homeport/1.0" }]);
  await pglite.transaction(async (tx) => {
    await tx.query(`DELETE FROM "Account" WHERE "id" = $1`, [bob]);
    await tx.query(
      `INSERT INTO "SecurityEvent" ("id", "accountId", "type", "at") VALUES ($1, $2, 'account_deleted', now())`,
      [randomUUID(), bob],
    );
  });
  expect(await trailOf(bob)).toEqual([]);
  expect(await rowsOf(`SELECT FROM "SecurityEvent"`)).toEqual([]);
});

test("notifications of version 1.0 wait in the outbox or have a receipt; those that it is sending stay with it", async () => {
  const queued = await rowsOf(`
    SELECT "eventKey", queued."deviceId", "queuePriority", "attempts", "reason", "accountId"
    FROM "QueuedPush" AS queued JOIN "PushMessage" AS message ON message."id" = "messageId"
    ORDER BY "eventKey", queued."deviceId"`);
  const announced = { eventKey: "version:2", queuePriority: 2, attempts: 0, reason: null, accountId: null };
  const renewed = { eventKey: "renewed", deviceId: devices[0], queuePriority: 1, attempts: 2, reason: "Shutdown" };
  const abandoned = { eventKey: "abandoned", deviceId: devices[1], queuePriority: 1, attempts: 1, reason: null };
  expect(queued).toEqual([
    { ...abandoned, accountId: ann },
    { ...renewed, accountId: ann },
    ...devices.toSorted().map((deviceId) => ({ ...announced, deviceId })),
  ]);
  const receipts = await rowsOf(`
    SELECT "eventKey", receipt."deviceId", "state", "endedAt", "apnsStatus"
    FROM "PushReceipt" AS receipt JOIN "PushMessage" AS message ON message."id" = "messageId"`);
  expect(receipts).toEqual([
    { eventKey: "challenge", deviceId: devices[0], state: "sent", endedAt: new Date(AT), apnsStatus: 200 },
  ]);
  expect(await rowsOf(`SELECT "eventKey", "state" FROM "PushDelivery"`)).toEqual([
    { eventKey: "expired", state: "sending" },
  ]);
});

test("version 1.0 goes on queueing and sending its own notifications", async () => {
  await writeDelivery(1, "later", "custom", "queued");
  await pglite.query(`UPDATE "PushDelivery" SET "state" = 'sent' WHERE "eventKey" = 'later'`);
  expect(await rowsOf(`SELECT "state" FROM "PushDelivery" WHERE "eventKey" = 'later'`)).toEqual([{ state: "sent" }]);
});
