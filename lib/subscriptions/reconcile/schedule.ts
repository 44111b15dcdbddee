import type { Context, Tx } from "../../context";
import { sql } from "../../platform/db/sql";
import type { ParsedEvent } from "../inbox/decide";
import type { Refolded } from "../inbox/fold";
import { revenueCat } from "../providers/revenuecat";
import { isHashedEmail } from "../sanitize";
import { appUserIdOf, findAppUserIds } from "./app-user-ids";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now" | "reconciler">;

/** The shortest time between two reconciliations of a purchase because of its overdue renewal. */
const MIN_INTERVAL_MS = 15 * 60 * 1000;

/**
 * Schedules customers to be reconciled, in the caller's transaction, once each. The App User IDs are as the provider
 * wrote them. Call `reconciler.wake` after the commit.
 */
export async function scheduleReconcile(tx: Tx, dbNow: Context["dbNow"], appUserIds: string[]): Promise<void> {
  if (appUserIds.length === 0) return;
  await tx.$executeRaw`
    INSERT INTO "ReconcileJob" ("appUserId", "nextAttemptAt")
    SELECT DISTINCT id, ${dbNow()} FROM unnest(${appUserIds}::text[]) AS id ORDER BY id
    ON CONFLICT ("appUserId") DO UPDATE
      SET "nextAttemptAt" = LEAST("ReconcileJob"."nextAttemptAt", EXCLUDED."nextAttemptAt")`;
}

/**
 * Returns the customers to reconcile after an event: owners of purchases that it transferred or refunded, since the
 * event does not contain their whole state, and the new owner in a transfer of purchases that are not stored.
 */
export async function customersToReconcile(
  tx: Tx,
  { provider, type, appUserId, facts: { identityChange } }: ParsedEvent,
  purchases: Refolded[],
): Promise<string[]> {
  if (provider !== revenueCat.name || type === "SNAPSHOT") return [];
  const isUnknownTransfer = identityChange === "transfer" && purchases.length === 0;
  if (isUnknownTransfer) return appUserId && !isHashedEmail(appUserId) ? [appUserId] : [];
  const changed = purchases.filter(
    ({ before, after }) => identityChange !== null || (after.refundedAt !== null && before.refundedAt === null),
  );
  return findAppUserIds(
    tx,
    changed.map(({ before }) => before.id),
  );
}

/**
 * Schedules the owners of purchases with an overdue renewal, without delaying the caller, at most every 15 minutes for
 * each purchase. Does nothing without an API key. Never throws.
 */
export async function scheduleOverdue(deps: Deps, purchaseIds: string[]): Promise<void> {
  if (purchaseIds.length === 0) return;
  await scheduleInBackground(deps, async ({ db, dbNow, now }) => {
    const at = now();
    const before = new Date(at.getTime() - MIN_INTERVAL_MS);
    // No transaction, which would hold a connection: if the process is killed, the next status request schedules again.
    const claimed = await db.purchase.updateManyAndReturn({
      where: { id: { in: purchaseIds }, OR: [{ reconciledAt: null }, { reconciledAt: { lte: before } }] },
      data: { reconciledAt: at },
      select: { id: true },
    });
    const ids = claimed.map(({ id }) => id);
    await scheduleReconcile(db, dbNow, await findAppUserIds(db, ids));
    return ids.length;
  });
}

/** Deletes all reconcile jobs if there is no API key to run them with. Returns their number. */
export async function removeReconcileJobs({ billing, db }: Pick<Deps, "billing" | "db">): Promise<number> {
  return billing ? 0 : (await db.reconcileJob.deleteMany()).count;
}

/**
 * Schedules an account without purchases, once a session: a purchase from before the sign-in is found although no event
 * has named the account since. Uses the account's id as the provider wrote it, if an event names it. Does nothing without
 * an API key. Never throws.
 */
export async function scheduleAfterSignIn(deps: Deps, sessionId: string): Promise<void> {
  await scheduleInBackground(
    deps,
    ({ db, dbNow }) => db.$executeRaw`
      WITH session AS (
        UPDATE "Session" SET "reconciledAt" = ${dbNow()} WHERE id = ${sessionId}::uuid AND "reconciledAt" IS NULL
        RETURNING "accountId"::text AS "accountId"
      )
      INSERT INTO "ReconcileJob" ("appUserId", "nextAttemptAt")
      SELECT ${appUserIdOf(sql`session."accountId"`)}, ${dbNow()} FROM session
      ON CONFLICT ("appUserId") DO UPDATE
        SET "nextAttemptAt" = LEAST("ReconcileJob"."nextAttemptAt", EXCLUDED."nextAttemptAt")`,
  );
}

/** `schedule` returns the number of customers or purchases that it scheduled. */
async function scheduleInBackground(deps: Deps, schedule: (deps: Deps) => Promise<number>): Promise<void> {
  if (!deps.billing) return;
  try {
    if ((await schedule(deps)) > 0) deps.reconciler.wake();
  } catch (error) {
    deps.log.warn({ err: error }, "billing reconciliation was not scheduled");
  }
}
