import { Client } from "pg";
import { expect, test } from "vitest";
import { Prisma } from "@/lib/platform/db/generated/client";
import { databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";

const TIMEOUTS = { lockMs: 100, statementMs: 8_000, queryMs: 10_000, idleInTransactionMs: 15_000 };

test.runIf(postgresUrl)("a locked table and a read-only server count as faults, until they are over", async () => {
  const url = await createMigratedDatabase();
  const open = () =>
    databaseOf(
      postgresAdapter(url, 1, () => {}, TIMEOUTS),
      serverParts(url),
      true,
    );
  const database = open();
  const other = new Client({ connectionString: url });
  await other.connect();
  expect(await database.checkWrites()).toBeNull();

  await other.query(`BEGIN; LOCK TABLE "RateLimit" IN SHARE MODE`); // as CREATE INDEX does
  expect(await database.checkWrites()).toBe("database");
  await other.query("COMMIT");
  expect(await database.checkWrites()).toBeNull();

  const name = new URL(url).pathname.slice(1);
  await other.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const readOnly = open();
  expect(await readOnly.checkWrites()).toBe("database");
  await Promise.all([database.close(), readOnly.close(), other.end()]);
});

test.runIf(postgresUrl)("a migration that holds one table gets the next, whoever asks for faults", async () => {
  const url = await createMigratedDatabase();
  const name = new URL(url).pathname.slice(1);
  const [migration, other] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
  await Promise.all([migration.connect(), other.connect()]);
  await other.query(`ALTER DATABASE ${name} SET deadlock_timeout = '1ms'`); // over before there is a deadlock
  const adapter = postgresAdapter(url, 1, () => {}, { ...TIMEOUTS, lockMs: 0, statementMs: 0 });
  const database = databaseOf(adapter, serverParts(url), true);

  const tables = Object.values(Prisma.ModelName);
  await migration.query("SET deadlock_timeout = '10s'");
  await migration.query(`BEGIN; LOCK TABLE "${tables.at(-1)}"`);
  const fault = database.checkWrites();
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1);
  await migration.query(`LOCK TABLE "${tables[0]}"`);
  expect(await fault).toBe("database");
  await Promise.all([database.close(), migration.end(), other.end()]);
});
