import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { embeddedAdapter } from "@/lib/platform/db/embedded/adapter";
import { migrateEmbedded } from "@/lib/platform/db/embedded/migrate";
import { diffToSchema, migrationNames } from "@/lib/platform/db/migrations";
import { migrationAdapter } from "@/lib/platform/db/server/adapter";
import { openPGlite, postgresUrl } from "@/tests/support/database";

test.runIf(postgresUrl)("on PostgreSQL a script is one transaction, whatever semicolons are in it", async () => {
  const url = await createDatabase(postgresUrl);
  const connection = await (await migrationAdapter(url)).connect();
  const script = "CREATE TABLE kept (text text DEFAULT 'one; two'); DO $$ BEGIN PERFORM 1; END $$;";
  await expect(connection.executeScript(`${script} ALTER TABLE missing ADD COLUMN x int`)).rejects.toThrow("missing");
  await connection.executeScript(script); // where the table was left by the first, this fails
  await connection.dispose();
});

test.runIf(postgresUrl)(
  "a migration does not wait long for a table that is in use, since all others would wait behind it",
  async () => {
    const url = await createDatabase(postgresUrl);
    const other = new Client({ connectionString: url });
    await other.connect();
    for (const statement of ["CREATE TABLE busy ()", "BEGIN", "LOCK TABLE busy"]) await other.query(statement);
    const connection = await migrationAdapter(url).connect();
    await expect(connection.executeScript("ALTER TABLE busy ADD COLUMN x int")).rejects.toThrow("lock timeout");
    await connection.dispose();
    await other.end();
  },
);

describe("on the embedded database", () => {
  let pglite: PGlite;
  let applied: string[];
  let last: string;
  const run = (sql: string) => pglite.query(sql, [last]);

  beforeAll(async () => {
    pglite = await openPGlite();
    await pglite.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); // faster than a new database
    applied = await migrateEmbedded(pglite);
    last = applied.at(-1) ?? "";
  });
  afterAll(() => pglite.close());

  test("the migrations, applied to an empty database, leave no difference to schema.prisma", async () => {
    expect(applied).toEqual(await migrationNames());
    expect(await diffToSchema(await embeddedAdapter(pglite))).toBe("");
    expect(await migrateEmbedded(pglite)).toEqual([]);
  });

  test("messages of version 1.1 are in the trails of their accounts, or name none", async () => {
    const [ann, device, gone] = [randomUUID(), randomUUID(), randomUUID()];
    await pglite.query(`INSERT INTO "Account" ("id", "email", "updatedAt") VALUES ($1, 'ann@example.com', now())`, [
      ann,
    ]);
    await pglite.query(
      `INSERT INTO "PushDevice" ("id", "accountId", "token", "bundleId", "environment", "registeredAt", "lastSeenAt")
       VALUES ($1, $2, 'token', 'com.example', 'production', now(), now())`,
      [device, ann],
    );
    for (const [accountId, deviceId] of [
      [ann, null],
      [null, device],
      [gone, null],
      [null, gone],
    ]) {
      const details = { accountId, deviceId, devices: 1 };
      const insert = `INSERT INTO "AuditEvent" ("id", "type", "at", "details") VALUES ($1, 'push_sent', now(), $2)`;
      await pglite.query(insert, [randomUUID(), details]);
    }
    await pglite.exec(await readFile("prisma/migrations/20261130010000_push_sent_accounts/migration.sql", "utf8"));
    const { rows } = await pglite.query(`SELECT "accountId", "details" ->> 'deviceId' AS device FROM "AuditEvent"`);
    expect(rows).toEqual([
      { accountId: ann, device: null },
      { accountId: ann, device },
      { accountId: null, device: null },
      { accountId: null, device: null },
    ]);
    expect(JSON.stringify((await pglite.query(`SELECT * FROM "AuditEvent"`)).rows)).not.toContain(gone);
  });

  test("arrays of an enum that a migration creates can be passed as parameters without another start", async () => {
    const { rows } = await pglite.query(`SELECT $1::"PushEnvironment"[] AS environments`, [["production"]]);
    expect(rows).toEqual([{ environments: ["production"] }]);
  });

  test("a script that fails throws, so that a failed migration never counts as applied", async () => {
    const connection = await (await embeddedAdapter(pglite)).connect();
    await expect(connection.executeScript("CREATE TABLE broken (nothing such_type)")).rejects.toThrow("such_type");
  });

  test("a migration that fails is named, and changes nothing", async () => {
    const twice = "20261129220000_idempotent_change_id"; // its column is there already
    const query = (sql: string) => pglite.query(sql, [twice]);
    await query("UPDATE _prisma_migrations SET migration_name = 'kept' WHERE migration_name = $1");
    await expect(migrateEmbedded(pglite)).rejects.toThrow(`${twice} failed and was rolled back: `);
    expect((await query("SELECT 1 FROM _prisma_migrations WHERE migration_name = $1")).rows).toEqual([]);
    await query("UPDATE _prisma_migrations SET migration_name = $1 WHERE migration_name = 'kept'");
    expect(await migrateEmbedded(pglite)).toEqual([]);
  });

  test("an unfinished migration record of an earlier version does not prevent a start", async () => {
    await run("UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0 WHERE migration_name = $1");
    expect(await migrateEmbedded(pglite)).toEqual([last]); // its script had run
    expect(await migrateEmbedded(pglite)).toEqual([]);
  });
});
