import type { Context, Tx } from "../../context";
import type { EventFacts } from "../events";
import type { Refolded } from "../inbox/purchases";
import { isHashed } from "../inbox/storable";
import { revenueCat } from "../providers/revenuecat";
import { customersOf } from "./customer-names";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now" | "reconciler">;
type Cause = { provider: string; type: string; appUserId: string | null };

/** How long an overdue purchase is left alone after it was scheduled. */
const OVERDUE_MS = 15 * 60 * 1000;

/**
 * Has the provider asked about customers, by their names as it writes them, once the transaction is committed. A
 * customer that is scheduled already is asked about once. Call `reconciler.wake` after the commit.
 */
export async function scheduleReconcile(tx: Tx, dbNow: Context["dbNow"], customers: string[]): Promise<void> {
  if (customers.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO "ReconcileJob" ("appUserId", "nextAttemptAt")
    SELECT DISTINCT name, ${dbNow()} FROM unnest(${customers}::text[]) AS name ORDER BY name
    ON CONFLICT ("appUserId") DO UPDATE SET "nextAttemptAt" = LEAST("ReconcileJob"."nextAttemptAt", EXCLUDED."nextAttemptAt")`;
}

/**
 * The customers that an event gives reason to ask about: those whose purchases it has moved or refunded, since it does not
 * say everything, and whoever a transfer gives what no event told of.
 */
export async function doubtfulCustomers(
  tx: Tx,
  { provider, type, appUserId }: Cause,
  { identityChange }: EventFacts,
  purchases: Refolded[],
): Promise<string[]> {
  if (provider !== revenueCat.name || type === "SNAPSHOT") return [];
  const isUnknown = identityChange === "transfer" && purchases.length === 0;
  if (isUnknown) return appUserId && !isHashed(appUserId) ? [appUserId] : [];
  const doubtful = purchases.filter(
    ({ before, after }) => identityChange !== null || (after.refundedAt !== null && before.refundedAt === null),
  );
  return customersOf(
    tx,
    doubtful.map(({ before }) => before.id),
  );
}

/**
 * Has the provider asked about the owners of overdue purchases, after whatever the caller has to answer: at most once in 15
 * minutes a purchase. Does nothing without an API key. Never throws.
 */
export async function scheduleOverdue(deps: Deps, purchaseIds: string[]): Promise<void> {
  if (purchaseIds.length === 0) return;
  await afterAnswer(deps, async ({ db, dbNow, now }) => {
    const at = now();
    const before = new Date(at.getTime() - OVERDUE_MS);
    // No transaction, which would take a connection for each who asks: after a kill the next status asks again.
    const claimed = await db.purchase.updateManyAndReturn({
      where: { id: { in: purchaseIds }, OR: [{ reconciledAt: null }, { reconciledAt: { lte: before } }] },
      data: { reconciledAt: at },
      select: { id: true },
    });
    const purchases = claimed.map(({ id }) => id);
    await scheduleReconcile(db, dbNow, await customersOf(db, purchases));
    return purchases.length;
  });
}

/**
 * Removes whoever the provider was to be asked about, where there is no API key: nobody asks any more. Returns how many
 * there were.
 */
export async function removeUnaskable({ billing, db }: Pick<Deps, "billing" | "db">): Promise<number> {
  return billing ? 0 : (await db.reconcileJob.deleteMany()).count;
}

/**
 * Has the provider asked about an account without purchases: once a session, so that what somebody bought before
 * signing in is found although no event has named the account since. It is asked by the account's name as the provider
 * writes it, or by its id where no event has named it. Does nothing without an API key. Never throws.
 */
export async function scheduleAfterSignIn(deps: Deps, sessionId: string): Promise<void> {
  await afterAnswer(
    deps,
    ({ db, dbNow }) => db.$executeRaw`
      WITH session AS (
        UPDATE "Session" SET "reconciledAt" = ${dbNow()} WHERE id = ${sessionId}::uuid AND "reconciledAt" IS NULL
        RETURNING "accountId"::text AS customer
      )
      INSERT INTO "ReconcileJob" ("appUserId", "nextAttemptAt")
      SELECT COALESCE((
        SELECT "appUserId" FROM "BillingEvent"
        WHERE provider = ${revenueCat.name} AND "appUserIds" @> ARRAY[customer] AND lower("appUserId") = customer
        ORDER BY "occurredAt" DESC LIMIT 1
      ), customer), ${dbNow()} FROM session
      ON CONFLICT ("appUserId") DO UPDATE SET "nextAttemptAt" = LEAST("ReconcileJob"."nextAttemptAt", EXCLUDED."nextAttemptAt")`,
  );
}

/** `schedule` returns how many customers or purchases it has found to be due. */
async function afterAnswer(deps: Deps, schedule: (deps: Deps) => Promise<number>): Promise<void> {
  if (!deps.billing) return;
  try {
    if ((await schedule(deps)) > 0) deps.reconciler.wake();
  } catch (error) {
    deps.log.warn({ err: error }, "asking the billing provider could not be scheduled");
  }
}
