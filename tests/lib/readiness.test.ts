import { Client } from "pg";
import { expect, test } from "vitest";
import { applyMigrations } from "@/lib/db/migrations";
import { migrationAdapter, postgresAdapter, wrap } from "@/lib/db/open";
import { createDatabase } from "../support/database";

const server = process.env.TEST_DATABASE_URL ?? "";
const TIMEOUTS = { lockMs: 100, statementMs: 8_000, queryMs: 10_000, idleInTransactionMs: 15_000 };

test.runIf(server)("a locked table and a read-only server count as faults, until they are over", async () => {
  const url = await createDatabase(server);
  await applyMigrations(migrationAdapter(url));
  const open = () =>
    wrap(
      postgresAdapter(url, 1, () => {}, TIMEOUTS),
      async () => {},
      true,
    );
  const database = open();
  const other = new Client({ connectionString: url });
  await other.connect();
  expect(await database.findFault()).toBeNull();

  await other.query(`BEGIN; LOCK TABLE "RateLimit" IN SHARE MODE`); // as CREATE INDEX does
  expect(await database.findFault()).toBe("database");
  await other.query("COMMIT");
  expect(await database.findFault()).toBeNull();

  const name = new URL(url).pathname.slice(1);
  await other.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const readOnly = open();
  expect(await readOnly.findFault()).toBe("database");
  await Promise.all([database.close(), readOnly.close(), other.end()]);
});
