import type { Context, Tx } from "../../context";
import { withRetry } from "../../platform/db/transaction";
import { cancelEvents, enqueueAll } from "../../push/outbox/enqueue";
import { readStatusRules, type StatusRules } from "../entitlement-rules";
import type { Refolded } from "../inbox/fold";
import type { StoredPurchase } from "../purchase-state";
import { endReplacedPurchases } from "../replacement";
import { purchaseStatus } from "../status/purchase-status";
import { readPurchasesOf } from "./notify-owners";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "isDraining" | "now">;
type Ending = { id: string; accountId: string; currentPeriodEndsAt: Date };

/** Bounds how long a transaction locks its purchases. */
const BATCH_SIZE = 200;

/**
 * Notifies the owners of trials that end within three days and then renew, once for each trial: like Stripe's event
 * `customer.subscription.trial_will_end`, but not in the first half of a shorter trial. Several processes may do this at
 * the same time.
 */
export async function notifyTrialEndings(deps: Deps): Promise<void> {
  while (!deps.isDraining) {
    const count = await withRetry(() => deps.db.$transaction((tx) => notifyBatch(deps, tx)));
    if (count < BATCH_SIZE) return;
  }
}

/**
 * Cancels notifications that wait for the end of quiet hours and whose trial no longer ends as announced: it was canceled,
 * extended or replaced by a paid period, or belongs to another account.
 */
export async function cancelTrialEndings(tx: Tx, dbNow: Context["dbNow"], changes: readonly Refolded[]): Promise<void> {
  const outdated = changes.filter(({ before, after }) => isRenewingTrial(before) && !isSameTrial(before, after));
  if (outdated.length === 0) return;
  const eventKeys = outdated.map(({ before }) => eventKeyOf(before));
  await cancelEvents(tx, dbNow(), eventKeys);
  const ids = outdated.map(({ before }) => before.id);
  // Another end is announced, too. The same one is not announced twice: its key is known.
  const where = { id: { in: ids }, trialEndingNotifiedAt: { not: null } };
  await tx.purchase.updateMany({ where, data: { trialEndingNotifiedAt: null } });
}

/** A purchase may have several trials, and a trial another end. */
const eventKeyOf = ({ id, currentPeriodEndsAt: end }: Pick<StoredPurchase, "id" | "currentPeriodEndsAt">) =>
  `trial-ending:${id}:${end?.getTime()}`;

function isRenewingTrial({ periodType, unsubscribedAt, endedAt, pausedAt, billingIssueDetectedAt }: StoredPurchase) {
  return periodType === "TRIAL" && !unsubscribedAt && !endedAt && !pausedAt && !billingIssueDetectedAt;
}

function isSameTrial(before: StoredPurchase, after: StoredPurchase): boolean {
  const isSameEnd = before.currentPeriodEndsAt?.getTime() === after.currentPeriodEndsAt?.getTime();
  return isRenewingTrial(after) && isSameEnd && before.accountId === after.accountId;
}

async function notifyBatch({ config, dbNow, now }: Deps, tx: Tx): Promise<number> {
  const at = now();
  const claimed = await claim(tx, at);
  if (claimed.length === 0) return 0;
  const accountIds = claimed.map(({ accountId }) => accountId);
  const purchases = await readPurchasesOf(tx, accountIds);
  const rulesOf = await readStatusRules(tx, { config, now }, purchases);
  const due = claimed.filter((ending) => isGoingToRenew(ending, purchases, rulesOf(ending.accountId), at));
  const events = due.map((trial) => {
    const ttlSeconds = Math.ceil((trial.currentPeriodEndsAt.getTime() - at.getTime()) / 1000);
    const message = { kind: "billing.trial_ending", purchaseId: trial.id, ttlSeconds } as const;
    return { eventKey: eventKeyOf(trial), to: { accountId: trial.accountId }, message };
  });
  await enqueueAll(tx, dbNow(), events);
  return claimed.length;
}

/** Claims trials that are about to end. `LEAST` ignores the length of a trial whose start is not known. */
function claim(tx: Tx, at: Date): Promise<Ending[]> {
  return tx.$queryRaw`
    UPDATE "Purchase" SET "trialEndingNotifiedAt" = ${at}::timestamptz
    WHERE id = ANY(ARRAY(
      SELECT id FROM "Purchase"
      WHERE "currentPeriodEndsAt" > ${at}::timestamptz AND "currentPeriodEndsAt" <= ${at}::timestamptz + interval '3 days'
        AND "currentPeriodEndsAt" - LEAST(interval '3 days', ("currentPeriodEndsAt" - "currentPeriodStartsAt") / 2)
          <= ${at}::timestamptz
        AND "periodType" = 'TRIAL' AND "trialEndingNotifiedAt" IS NULL AND "endedAt" IS NULL AND "unsubscribedAt" IS NULL
        AND "pausedAt" IS NULL AND "billingIssueDetectedAt" IS NULL AND "accountId" IS NOT NULL
      ORDER BY "currentPeriodEndsAt" LIMIT ${BATCH_SIZE}::int FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING id::text, "accountId"::text, "currentPeriodEndsAt"`;
}

/** Whether a trial gives access and renews, and no other purchase of the account has replaced it. */
function isGoingToRenew(ending: Ending, purchases: StoredPurchase[], rules: StatusRules, at: Date): boolean {
  const own = endReplacedPurchases(purchases.filter(({ accountId }) => accountId === ending.accountId));
  const trial = own.find(({ id }) => id === ending.id);
  if (!trial) return false;
  const { isActive, willRenew } = purchaseStatus(trial, at, rules);
  return isActive && willRenew;
}
