import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { composeContext } from "@/lib/compose";
import { type Tx, withTransactionCheck } from "@/lib/platform/db/transaction";
import { post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { openTestDatabase } from "@/tests/support/database";

/** The client that checks its transactions, on PostgreSQL too. */
const checkedClient = () => withTransactionCheck(ctx().database.client);

/** How a query outside of a transaction ends in it. */
const outcomeOf = (db: ReturnType<typeof checkedClient>, query: () => Promise<unknown>) =>
  db.$transaction(() => query()).catch((error: Error) => error as Error & { cause: Error });

test("a query outside of its own code's transaction fails at once, with the stacks of both", async () => {
  const db = checkedClient();
  const queries: Record<string, () => Promise<unknown>> = {
    model: () => db.account.count(),
    raw: () => db.$queryRaw`SELECT 1`,
    write: () => db.$executeRaw`DELETE FROM "Account"`,
    nested: () => db.$transaction((tx) => tx.account.count()),
    batch: () => db.$transaction([db.account.count()]),
  };
  for (const [name, query] of Object.entries(queries)) {
    const error = (await outcomeOf(db, query)) as Error & { cause: Error };
    expect(error.message, name).toContain("outside of the transaction");
    expect(error.stack, name).toContain(`${name} (`);
    expect(error.cause.stack, name).toContain("outcomeOf");
  }
});

test("the transaction's own queries, those of others, and those after its end are sent", async () => {
  const db = checkedClient();
  const count = (client: Tx) => client.account.count();
  let resume = () => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  let background: Promise<number> | undefined;
  const own = db.$transaction((tx) => {
    background = resumed.then(() => count(db)); // not waited for
    return count(tx);
  });
  expect(await Promise.all([own, count(db)])).toEqual([0, 0]);
  resume();
  expect(await background).toBe(0);
  await expect(db.$transaction(() => Promise.reject(new Error("its own")))).rejects.toThrow("its own");
});

test("the first request of a first start finds the data keys, which its transaction would block", async () => {
  const DATA_DIR = await mkdtemp(path.join(tmpdir(), "homeport-first-start-"));
  const config = { ...ctx().config, DATA_DIR, RATE_LIMITS: "off" } as const; // limits would read the keys before
  const { mailer, log } = ctx();
  const database = await openTestDatabase(DATA_DIR);
  const first = await composeContext(config, { database, mailer, log, checksTransactions: true });
  const registration = { email: "first@example.com", password: "a good long password" };
  expect((await withContext(first, () => post("/api/auth/register", registration))).status).toBe(201);
  await first.close();
});
