import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { type Database, databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import type { Timeouts } from "@/lib/platform/db/time-limits";
import { postgresUrl } from "@/tests/support/database";

/** Time-outs that never come, as where a pooler drops what the service asks of the server. */
const NONE: Timeouts = { lockMs: 0, statementMs: 0, queryMs: 0, idleInTransactionMs: 0 };

let url: string;
let other: Client;
const opened: Database[] = [];

/** A pool of one connection, so that whatever a transaction leaves behind meets the next query. */
function open(timeouts: Partial<Timeouts>): Database["client"] {
  const adapter = postgresAdapter(url, 1, () => {}, { ...NONE, ...timeouts });
  const database = databaseOf(adapter, serverParts(url), true);
  opened.push(database);
  return database.client;
}

/** A transaction that writes, and then waits for the table that `other` holds. */
function blockedTransaction(db: Database["client"]): Promise<unknown> {
  return db.$transaction(
    async (tx) => {
      await tx.$executeRaw`INSERT INTO half VALUES (1)`;
      await tx.$executeRaw`INSERT INTO busy VALUES (1)`;
    },
    { timeout: 60_000 },
  );
}

/** What borrows the connection next. */
const NEXT: [next: string, write: (db: Database["client"]) => Promise<number>][] = [
  ["statement", (db) => db.$executeRaw`INSERT INTO kept VALUES (1)`],
  ["transaction", (db) => db.$transaction((tx) => tx.$executeRaw`INSERT INTO kept VALUES (1)`)],
];

/** Other tests use other databases of the same server. */
const IDLE_IN_TRANSACTION =
  "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'homeport' AND state LIKE 'idle in%'";

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  beforeAll(async () => {
    url = await createDatabase(postgresUrl);
    other = new Client({ connectionString: url });
    await other.connect();
    for (const table of ["busy", "half", "kept"]) await other.query(`CREATE TABLE ${table} (id int)`);
  });

  afterAll(async () => {
    for (const database of opened) await database.close();
    await other.end();
  });

  test.each(NEXT)("the %s after a transaction that was stuck behind a lock is no part of it", async (_, write) => {
    const db = open({ queryMs: 500 });
    await other.query("TRUNCATE kept, half");
    await other.query("BEGIN");
    await other.query("LOCK TABLE busy");
    await expect(blockedTransaction(db)).rejects.toThrow("timeout");
    const acknowledge = async () => {
      for (let count = 0; count === 0; ) count = await write(db).catch(() => 0);
    };
    const acknowledged = acknowledge();
    await other.query("COMMIT");
    await acknowledged;
    await other.query(`SELECT pg_terminate_backend(pid) ${IDLE_IN_TRANSACTION}`);
    expect((await other.query("SELECT DISTINCT id FROM kept")).rows).toEqual([{ id: 1 }]);
    expect((await other.query("SELECT id FROM half")).rows).toEqual([]);
  });
});
