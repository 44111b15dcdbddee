import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seedDatabase } from "@/dev/seed/seed";
import { isDatabaseUnavailable } from "@/lib/platform/database-errors";
import type { CopySession, CopySnapshot, Summary, Table } from "@/lib/platform/db/copy";
import {
  appliedMigrations,
  listTables,
  RowSummary,
  summarized,
  summarizeTable,
  tablesWithRows,
} from "@/lib/platform/db/copy";
import type { Embedded } from "@/lib/platform/db/embedded/open";
import { Prisma } from "@/lib/platform/db/generated/client";
import { migrationNames } from "@/lib/platform/db/migrations";
import { type Database, databaseOf } from "@/lib/platform/db/open";
import { openServerCopySession } from "@/lib/platform/db/server/copy-session";
import { createMigratedDatabase, openMigratedEmbedded, postgresUrl } from "@/tests/support/database";

const ACCOUNTS = 20;
/** Values with a special form in COPY's text format, and those that databases write in different ways. */
const ODD_VALUES = [
  `UPDATE "Account" SET name = E'\\\\N' WHERE id = (SELECT min(id::text)::uuid FROM "Account")`,
  `UPDATE "Account" SET name = '', image = E'tab\\t line\\n return\\r backslash \\\\ end \\\\.' WHERE id = (SELECT max(id::text)::uuid FROM "Account")`,
  `UPDATE "Account" SET image = E'\\\\.' WHERE name = E'\\\\N'`,
  `UPDATE "Account" SET name = 'Zoë 🏠 עברית', image = repeat('wide', 400000), "unverifiedExpiresAt" = 'infinity', "disabledAt" = '-infinity'
   WHERE id = (SELECT id FROM "Account" WHERE name IS DISTINCT FROM '' ORDER BY email LIMIT 1)`,
  `INSERT INTO "Passkey" (id, "accountId", name, "credentialId", "publicKey", counter, transports, aaguid, "isBackupEligible", "isBackedUp", "createdAt")
   SELECT gen_random_uuid(), id, '', 'credential', '\\x00ff0a5c4e', 9223372036854775807, ARRAY['a,b', 'NULL', '{"', E'\\n', ''], id, true, false, '0044-03-15 BC' 
   FROM "Account" LIMIT 1`,
  `INSERT INTO "AuditEvent" (id, type, at, details)
   VALUES (gen_random_uuid(), 'odd', '9999-12-31T23:59:59.999Z', '{"a": "\\u00e9\\n\\\\", "n": 1e400, "z": null, "b": [true]}')`,
];

let source: Embedded;
let database: Database;
const open: { close: () => Promise<void> }[] = [];

async function openEmbedded(): Promise<Embedded> {
  const embedded = await openMigratedEmbedded(await mkdtemp(path.join(tmpdir(), "homeport-copy-")));
  open.push(embedded);
  return embedded;
}

/** A migrated, empty database: on PostgreSQL where the run has it. */
async function openTarget(): Promise<CopySession> {
  if (!postgresUrl) return (await openEmbedded()).copySession;
  const session = await openServerCopySession(await createMigratedDatabase());
  open.push(session);
  return session;
}

async function copy(from: CopySnapshot, to: CopySession): Promise<Map<string, Summary>> {
  const summaries = new Map<string, Summary>();
  for (const table of await listTables(from)) {
    const summary = new RowSummary();
    await to.write(table, summarized(from.read(table), summary));
    summaries.set(table.name, summary.get());
  }
  await from.close();
  return summaries;
}

async function summariesOf(session: CopySession): Promise<Map<string, Summary>> {
  const entries: [string, Summary][] = [];
  for (const table of await listTables(session)) entries.push([table.name, await summarizeTable(session, table)]);
  return new Map(entries);
}

beforeAll(async () => {
  source = await openEmbedded();
  database = databaseOf(source.adapter, source, true);
  const deps = { db: database.client, now: new Date("2026-06-15T12:00:00Z") };
  await seedDatabase(deps, { accounts: ACCOUNTS, seed: 1, onProgress: () => {} });
  for (const sql of ODD_VALUES) await source.copySession.query(sql);
});

afterAll(async () => {
  for (const part of open) await part.close();
});

test("every value survives a copy to the other database and back", async () => {
  const target = await openTarget();
  expect(await tablesWithRows(target, await listTables(target))).toEqual([]);
  const there = await copy(await source.openSnapshot(), target);
  expect(there.get("Account")?.rows).toBe(ACCOUNTS);
  expect(await summariesOf(target)).toEqual(there);
  const back = await openEmbedded();
  expect(await copy({ ...target, close: async () => {} }, back.copySession)).toEqual(there);
  expect(await summariesOf(back.copySession)).toEqual(there);

  const odd = `SELECT name, image, "unverifiedExpiresAt"::text, "disabledAt"::text FROM "Account" WHERE name IS NULL OR name !~ '^[A-Z]'
    ORDER BY id`;
  expect(await back.copySession.query(odd)).toEqual(await source.copySession.query(odd));
  const passkeys = `SELECT * FROM "Passkey" WHERE "credentialId" = 'credential'`;
  expect(await back.copySession.query(passkeys)).toEqual(await source.copySession.query(passkeys));
});

test("a change of one value changes the checksum, the order of the rows does not", async () => {
  const { copySession } = source;
  const table: Table = { name: "Rows", columns: ["id", "type"] };
  await copySession.query(`CREATE TEMPORARY TABLE "Rows" (id int, type text)`);
  expect((await summarizeTable(copySession, table)).rows).toBe(0);
  await copySession.query(`INSERT INTO "Rows" VALUES (1, 'a'), (2, 'b')`);
  const ordered = await summarizeTable(copySession, table);
  await copySession.query(`DELETE FROM "Rows"`);
  await copySession.query(`INSERT INTO "Rows" VALUES (2, 'b'), (1, 'a')`);
  expect(await summarizeTable(copySession, table)).toEqual(ordered);
  await copySession.query(`UPDATE "Rows" SET type = 'c' WHERE type = 'b'`);
  expect(await summarizeTable(copySession, table)).not.toEqual(ordered);
});

test("all tables of the schema are copied, except the unlogged one, and each after those that it refers to", async () => {
  const names = (await listTables(source.copySession)).map(({ name }) => name);
  expect([...names, "RateLimitCounter"].sort()).toEqual(Object.values(Prisma.ModelName).sort());
  expect(names.indexOf("Account")).toBeLessThan(names.indexOf("Session"));
  expect(names.indexOf("Session")).toBeLessThan(names.indexOf("PushDevice"));
  expect(await appliedMigrations(source.copySession)).toEqual(await migrationNames());
  const others = await source.copySession.query(
    "SELECT relname FROM pg_class WHERE relkind IN ('S', 'm', 'p', 'f') AND relnamespace = 'public'::regnamespace",
  );
  expect(others).toEqual([]); // a copy has no sequences, materialized views or partitions
});

test("while the embedded database is copied, writes wait, reads continue, and the copy has no later change", async () => {
  const { client: db } = database;
  const account = await db.account.findFirstOrThrow({ where: { email: { contains: "@" } } });
  const where = { id: account.id };
  const before = await summariesOf(source.copySession);
  const snapshot = await source.openSnapshot();
  const ended: string[] = [];
  const writes = [
    db.account.update({ where, data: { name: "one statement" } }),
    db.$transaction(async (tx) => {
      await tx.account.update({ where, data: { sessionEpoch: { increment: 1 } } });
      await tx.auditEvent.create({ data: { type: "later", at: new Date() } });
    }),
    db.auditEvent.createMany({ data: [{ type: "later", at: new Date() }] }),
  ].map((write) => write.then(() => ended.push("write")));
  const nextSnapshot = source.openSnapshot().then((next) => next.close());

  expect(await db.account.count()).toBe(ACCOUNTS);
  expect(await database.checkWrites()).toBeNull();
  expect(await summariesOf(snapshot)).toEqual(before);
  expect(ended).toEqual([]);
  await snapshot.close();
  await Promise.all([...writes, nextSnapshot]);
  expect(await db.account.findUniqueOrThrow({ where })).toMatchObject({
    name: "one statement",
    sessionEpoch: account.sessionEpoch + 1,
  });
  expect(await db.auditEvent.count({ where: { type: "later" } })).toBe(2);
});

test("no write fails at the start or the end of a pause", async () => {
  const { client: db } = database;
  const writes: Promise<unknown>[] = [];
  for (let round = 0; round < 5; round++) {
    const create = () => db.auditEvent.create({ data: { type: "round", at: new Date() } });
    writes.push(create(), db.$transaction([create(), create()]));
    const snapshot = await source.openSnapshot();
    writes.push(create(), db.$transaction([create(), create()]));
    await snapshot.close();
  }
  await Promise.all(writes);
  expect(await db.auditEvent.count({ where: { type: "round" } })).toBe(30);
});

test("a write that waits for five seconds fails as unavailable, and is not made later", async () => {
  const { client: db } = database;
  const create = () => db.auditEvent.create({ data: { type: "late", at: new Date() } });
  const snapshot = await source.openSnapshot();
  const outcomes = await Promise.allSettled([
    create(),
    db.$transaction(async (tx) => void (await tx.auditEvent.count())),
  ]);
  await snapshot.close();
  expect(outcomes.map((one) => one.status === "rejected" && isDatabaseUnavailable(one.reason))).toEqual([true, true]);
  expect(await db.auditEvent.count({ where: { type: "late" } })).toBe(0);
  expect(await create()).toMatchObject({ type: "late" });
});

test.runIf(postgresUrl)("a copy of PostgreSQL has one moment, while others write", async () => {
  const url = await createMigratedDatabase();
  const other = await openServerCopySession(url);
  const insert = `INSERT INTO "AuditEvent" (id, type, at) VALUES (gen_random_uuid(), 'a', now())`;
  await other.query(insert);
  const snapshot = await openServerCopySession(url, { isSnapshot: true });
  const table: Table = { name: "AuditEvent", columns: ["id"] };
  expect((await summarizeTable(snapshot, table)).rows).toBe(1);
  await other.query(insert);
  expect((await summarizeTable(snapshot, table)).rows).toBe(1);
  await expect(snapshot.query(insert)).rejects.toMatchObject({ code: "25006" });
  await Promise.all([snapshot.close(), other.close()]);
});
