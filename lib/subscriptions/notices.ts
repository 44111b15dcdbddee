import type { Context, Tx } from "../context";
import { enqueue } from "../push/outbox";
import type { EventFacts } from "./events";
import type { Refolded } from "./inbox/lines";
import type { LineState } from "./line-state";
import { type BillingRules, counts, statusRules } from "./rules";

type Notice = "billing.payment_failed" | "billing.expired" | "billing.renewed";
type Cause = EventFacts & { provider: string; eventId: string; type: string };

/**
 * News this old are no news: an event that is replayed, or delivered again after days, tells nobody, and neither does
 * what the provider says of long ago when it is asked.
 */
const NEWS_MS = 24 * 60 * 60 * 1000;

/**
 * Tells a line's owner what an event has changed, by push, in the event's own transaction: once, however often the
 * event is applied. What does not count for this account, such as a sandbox purchase, is not told.
 */
export async function notifyOwner(
  tx: Tx,
  { config, dbNow, now }: Pick<Context, "dbNow" | "now"> & { config: BillingRules },
  { provider, eventId, type, occurredAt }: Cause,
  { before, after, accountId }: Refolded,
): Promise<void> {
  const kind = noticeOf(type, before, after);
  const happenedAt = type === "SNAPSHOT" ? (after.endedAt ?? after.billingIssueDetectedAt ?? occurredAt) : occurredAt;
  if (kind === null || accountId === null || now().getTime() - happenedAt.getTime() > NEWS_MS) return;
  if (!counts(before, statusRules(config, accountId))) return;
  const message = { kind, lineId: before.id };
  await enqueue(tx, dbNow(), { eventKey: `billing:${provider}:${eventId}`, to: { accountId }, message });
}

/** What is new on a line; null where an event changed nothing that its owner would want to hear of. */
function noticeOf(type: string, before: LineState, after: LineState): Notice | null {
  if (after.billingIssueDetectedAt && !before.billingIssueDetectedAt) return "billing.payment_failed";
  const isOver = after.endedAt !== null && before.endedAt === null && after.refundedAt === null;
  if (isOver && after.expirationReason !== "SUBSCRIPTION_PAUSED") return "billing.expired";
  const isLonger = (after.currentPeriodEndsAt?.getTime() ?? 0) > (before.currentPeriodEndsAt?.getTime() ?? 0);
  return type === "RENEWAL" && isLonger ? "billing.renewed" : null;
}
