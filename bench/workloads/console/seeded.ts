import { seedDatabase } from "../../../dev/seed/seed";
import { PrismaClient } from "../../../lib/platform/db/generated/client";
import { postgresAdapter } from "../../../lib/platform/db/server/adapter";
import { COMMAND_LIMITS } from "../../../lib/platform/db/time-limits";
import { addAccounts } from "../../fixtures/accounts";
import type { Bench } from "../../lib/bench";
import { isSmoke } from "../../lib/scale";

/** With ten times as many billing events, and three deliveries each. */
const ACCOUNTS = isSmoke ? 100 : 100_000;
const SEED = 1;

/** Fills the workload's database as `npm run seed` does, and calls `use` with a connection to it. */
export async function withSeededDatabase(
  { env }: Bench,
  use: (db: PrismaClient) => Promise<void>,
  accounts = ACCOUNTS,
): Promise<{ accounts: number; seconds: number }> {
  const db = new PrismaClient({ adapter: postgresAdapter(env.DATABASE_URL, 2, console.error, COMMAND_LIMITS) });
  try {
    const startedAt = performance.now();
    await seedDatabase({ db, now: new Date() }, { accounts, seed: SEED, onProgress: () => {} });
    const seconds = (performance.now() - startedAt) / 1000;
    await use(db);
    return { accounts, seconds };
  } finally {
    await db.$disconnect();
  }
}

/** Adds an admin. Returns the cookie of their session in a browser. */
export async function signInAdmin(bench: Bench): Promise<string> {
  const [admin] = await addAccounts(bench, 1);
  if (!admin) throw new Error("No account was added");
  await bench.database.query(`UPDATE "Account" SET "role" = 'admin' WHERE "id" = $1`, [admin.id]);
  await bench.database.query(`UPDATE "Session" SET "transport" = 'cookie' WHERE "accountId" = $1`, [admin.id]);
  return `next-auth.session-token=${admin.token}`;
}
