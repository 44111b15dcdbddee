import { expect, test } from "vitest";
import { type Tx, withTransactionCheck } from "@/lib/platform/db/transaction";
import { ctx } from "@/tests/support/context";

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
