import type { Context } from "../../context";
import { revenueCat } from "../providers/revenuecat";
import { reconcileCustomer } from "./customers";

/** Asks the provider about the customers that are due: rows of one table, so that neither a 429 nor a kill loses one. */
export type Reconciler = {
  /** Begins to ask about whoever is due, and returns at once. Call it after `scheduleReconcile`, and now and then. */
  wake: () => void;
  /** Waits for the answer that is on its way. The rest stays for the next start. */
  close: () => Promise<void>;
};

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now">;
type AskingDeps = Deps & { billing: NonNullable<Context["billing"]> };
type Row = { appUserId: string; attempts: number; leaseUntil: Date };

/** Longer than any attempt takes; whoever was killed at it has lost it then. */
const LEASE_SECONDS = 2 * 60;
/** After the first failure, doubled with each one, up to the longest: the attempts take three days. */
const RETRY_SECONDS = 60;
const MAX_RETRY_SECONDS = 6 * 60 * 60;
const MAX_ATTEMPTS = 20;
/** A day, so that a clock that was ahead does not stop everything for long. */
const MAX_PAUSE_SECONDS = 24 * 60 * 60;

/** Makes the one loop of a process: it asks about one customer at a time. Without an API key it does nothing. */
export function createReconciler({ billing, ...rest }: Deps): Reconciler {
  if (!billing) return { wake: () => {}, close: async () => {} };
  const deps = { billing, ...rest };
  let loop: Promise<void> | undefined;
  let isWanted = false;
  let isClosed = false;

  const drain = async () => {
    while (isWanted) {
      isWanted = false; // a wake from now on may be for a row that the last claim did not see yet
      await reconcileDue(deps, () => isClosed);
    }
  };
  return {
    wake: () => {
      isWanted = true;
      if (isClosed) return;
      loop ??= drain()
        .catch((error: unknown) => deps.log.warn({ err: error }, "asking the billing provider waits"))
        .finally(() => {
          loop = undefined;
        });
    },
    close: async () => {
      isClosed = true;
      await loop;
    },
  };
}

/** Asks about the customers that are due, one after the other, until none is or `isStopped`. */
export async function reconcileDue(deps: AskingDeps, isStopped = () => false): Promise<void> {
  while (!isStopped()) {
    const row = await claim(deps);
    if (!row) return;
    await attempt(deps, row);
  }
}

/** Takes the customer that has been due for longest, unless the provider has asked to be left alone. */
async function claim({ db, dbNow }: Deps): Promise<Row | undefined> {
  const [row] = await db.$queryRaw<Row[]>`
    UPDATE "ReconcileJob"
    SET attempts = attempts + 1, "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${LEASE_SECONDS}::int
    WHERE "appUserId" = (
      SELECT "appUserId" FROM "ReconcileJob"
      WHERE ("nextAttemptAt" <= ${dbNow()} OR "nextAttemptAt" > ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)
        AND NOT EXISTS (
          SELECT 1 FROM "BillingApiPause" WHERE provider = ${revenueCat.name} AND until > ${dbNow()}
            AND until <= ${dbNow()} + interval '1 second' * ${MAX_PAUSE_SECONDS}::int)
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING "appUserId", attempts, "nextAttemptAt" AS "leaseUntil"`;
  return row;
}

async function attempt(deps: AskingDeps, row: Row): Promise<void> {
  const { db, log } = deps;
  const { appUserId, attempts, leaseUntil } = row;
  try {
    const { againInSeconds } = await reconcileCustomer(deps, appUserId);
    // Where the customer was scheduled again meanwhile, the row is no longer ours to settle.
    if (againInSeconds === undefined)
      await db.reconcileJob.deleteMany({ where: { appUserId, nextAttemptAt: leaseUntil } });
    else await putOff(deps, row, againInSeconds, 0);
  } catch (error) {
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    if (retryAfterSeconds !== undefined) {
      log.warn({ retryAfterSeconds }, "the billing provider asks to wait");
      await pause(deps, retryAfterSeconds);
      return putOff(deps, row, retryAfterSeconds, attempts - 1);
    }
    if (attempts >= MAX_ATTEMPTS) {
      log.error({ err: error, attempts }, "gave up asking the billing provider about a customer");
      await db.reconcileJob.deleteMany({ where: { appUserId, nextAttemptAt: leaseUntil } });
      return;
    }
    log.warn({ err: error, attempts }, "the billing provider could not be asked");
    await putOff(deps, row, Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS), attempts);
  }
}

async function putOff({ db, dbNow }: Deps, row: Row, seconds: number, attempts: number): Promise<void> {
  await db.$executeRaw`
    UPDATE "ReconcileJob"
    SET attempts = ${attempts}::int, "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${Math.ceil(seconds)}::int
    WHERE "appUserId" = ${row.appUserId} AND "nextAttemptAt" = ${row.leaseUntil}::timestamptz`;
}

/** Keeps every process from asking: the provider counts the requests of one key, not those about one customer. */
async function pause({ db, dbNow }: Deps, seconds: number): Promise<void> {
  await db.$executeRaw`
    INSERT INTO "BillingApiPause" (provider, until)
    VALUES (${revenueCat.name}, ${dbNow()} + interval '1 second' * ${Math.max(seconds, 1)}::int)
    ON CONFLICT (provider) DO UPDATE SET until = EXCLUDED.until`;
}
