import type { Context, Tx } from "../../context";
import { enqueueAll, type PushEvent } from "../../push/outbox/enqueue";
import { type BillingRules, canEntitle, statusRules } from "../entitlement-rules";
import type { PurchaseChange, Refolded } from "../inbox/refold";

type Reason = "refund" | "transfer" | "recovery";

/** The apps read the status when they are opened next: what is older needs no wake-up. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Wakes the apps of accounts whose access may have changed without their doing, by a background push, so that they read
 * the status: a purchase was refunded or moved to another account, or its failed payment succeeded. In the events'
 * transaction, and once for each event and account.
 */
export async function wakeApps(
  tx: Tx,
  { config, dbNow, now }: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  changes: readonly PurchaseChange[],
): Promise<void> {
  const since = now().getTime() - MAX_AGE_MS;
  const recent = changes.filter(({ event }) => event.facts.occurredAt.getTime() >= since);
  const events = new Map(recent.flatMap((change) => wakeUpsOf(change, config)).map((one) => [one.eventKey, one]));
  if (events.size > 0) await enqueueAll(tx, dbNow(), [...events.values()]);
}

/** Both accounts of a transfer are concerned. */
function wakeUpsOf(change: PurchaseChange, config: BillingRules): PushEvent[] {
  const { before, after, event } = change;
  const reason = reasonOf(change);
  if (reason === null) return [];
  const accountIds = new Set([before.accountId, after.accountId].filter((id) => id !== null));
  return [...accountIds].flatMap((accountId) => {
    if (!canEntitle(after, statusRules(config, accountId))) return [];
    const eventKey = `billing-changed:${event.provider}:${event.eventId}:${accountId}`;
    return { eventKey, to: { accountId }, message: { kind: "billing.changed", reason } };
  });
}

function reasonOf({ before, after }: Refolded): Reason | null {
  if (before.accountId !== null && before.accountId !== after.accountId) return "transfer";
  if ((before.refundedAt === null) !== (after.refundedAt === null)) return "refund";
  const isRecovered = before.billingIssueDetectedAt !== null && after.billingIssueDetectedAt === null;
  return isRecovered && after.endedAt === null ? "recovery" : null;
}
