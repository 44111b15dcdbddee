import type { Line, LineState } from "./line-state";
import { endReplaced } from "./replacement";
import { counts, type StatusRules } from "./rules";
import type { Entitlement, LineStatus, SubscriptionStatus } from "./schema";

type Judgement = { status: LineStatus["status"]; stale?: true };

const WITH_ACCESS = new Set<LineStatus["status"]>(["active", "trialing", "canceled", "grace_period"]);
/** Periods that are paid for once. */
const NOT_RENEWING = new Set(["PREPAID", "PROMOTIONAL"]);

/** Where each store lets people manage what they bought, as the stores document it. */
const MANAGEMENT_URLS = new Map([
  ["APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["MAC_APP_STORE", "https://apps.apple.com/account/subscriptions"],
  ["PLAY_STORE", "https://play.google.com/store/account/subscriptions"],
]);

/** What is told of somebody who has no line. */
const NO_LINE: LineStatus = {
  status: "none",
  isActive: false,
  willRenew: false,
  isLifetime: false,
  isFamilyShare: false,
  stale: false,
  entitlements: [],
  productId: null,
  pendingProductId: null,
  store: null,
  periodType: null,
  environment: null,
  startedAt: null,
  currentPeriodStartsAt: null,
  currentPeriodEndsAt: null,
  accessEndsAt: null,
  gracePeriodEndsAt: null,
  canceledAt: null,
  cancelReason: null,
  expirationReason: null,
  billingIssueDetectedAt: null,
  refundedAt: null,
  resumesAt: null,
  managementUrl: null,
};

/**
 * An account's status at a moment: that of its best line, with access before without, then lifetime, then the
 * latest end. Lines of an environment that does not count are listed, but never the answer. A one-time purchase that
 * gives no entitlement, such as coins, is no subscription.
 */
export function accountStatus(lines: Line[], at: Date, rules: StatusRules): SubscriptionStatus {
  const entitling = lines.filter(({ periodType, entitlementIds }) => periodType !== null || entitlementIds.length > 0);
  const judged = endReplaced(entitling).map((line) => ({ line, answer: lineStatus(line, at, rules) }));
  const ranked = judged.toSorted((a, b) => compareLines(a.answer, b.answer));
  const counting = ranked.filter(({ line }) => counts(line, rules)).map(({ answer }) => answer);
  return {
    ...(counting[0] ?? NO_LINE),
    entitlements: unite(counting.flatMap(({ entitlements }) => entitlements)),
    subscriptions: ranked.map(({ answer }) => answer),
    lastEventAt: latest(...lines.map(({ lastEventAt }) => lastEventAt)),
    checkedAt: at,
  };
}

/** A line's status at a moment. */
export function lineStatus(line: Line, at: Date, rules: StatusRules): LineStatus {
  const { status, stale = false } = judge(line, at, rules);
  const isActive = WITH_ACCESS.has(status) && counts(line, rules);
  const accessEndsAt = accessEnd(line, stale ? rules.staleLeewaySeconds : 0);
  return {
    status,
    isActive,
    willRenew: (status === "active" || status === "trialing") && renews(line) && !isHeldUp(line),
    isLifetime: line.isLifetime,
    isFamilyShare: line.isFamilyShare,
    stale,
    entitlements: line.entitlementIds.map((id) => ({
      id,
      isActive,
      expiresAt: accessEndsAt,
      productId: line.productId,
      store: line.store,
    })),
    productId: line.productId,
    pendingProductId: line.pendingProductId,
    store: line.store,
    periodType: line.periodType,
    environment: line.environment,
    startedAt: line.startedAt,
    currentPeriodStartsAt: line.currentPeriodStartsAt,
    currentPeriodEndsAt: line.currentPeriodEndsAt,
    accessEndsAt,
    gracePeriodEndsAt: line.gracePeriodEndsAt,
    canceledAt: line.unsubscribedAt,
    cancelReason: line.cancelReason,
    expirationReason: line.expirationReason,
    billingIssueDetectedAt: line.billingIssueDetectedAt,
    refundedAt: line.refundedAt,
    resumesAt: line.resumesAt,
    managementUrl: MANAGEMENT_URLS.get(line.store) ?? null,
  };
}

/** First match counts. */
function judge(line: Line, at: Date, rules: StatusRules): Judgement {
  if (isRevoked(line)) return { status: "revoked" };
  if (line.endedAt) return { status: endedStatus(line.expirationReason) };
  if (line.isLifetime) return { status: "active" };
  const end = line.currentPeriodEndsAt;
  if (!end) return { status: "expired" };
  if (at < end) return { status: runningStatus(line) };
  if (line.billingIssueDetectedAt) {
    return { status: line.gracePeriodEndsAt && at < line.gracePeriodEndsAt ? "grace_period" : "billing_retry" };
  }
  if (line.pausedAt) return { status: "paused" };
  if (renews(line) && at < plusSeconds(end, rules.staleLeewaySeconds)) return { status: "active", stale: true };
  return { status: "expired" };
}

function endedStatus(reason: string | null): LineStatus["status"] {
  if (reason === "SUBSCRIPTION_PAUSED") return "paused";
  return reason === "CUSTOMER_SUPPORT" ? "revoked" : "expired";
}

/** Before the end of the period: access, whatever else is wrong. */
function runningStatus(line: Line): LineStatus["status"] {
  if (line.unsubscribedAt) return "canceled";
  return line.periodType === "TRIAL" ? "trialing" : "active";
}

/** Whether a refund ended the line. One that did not leaves access until the end of the period. */
export function isRevoked({ refundedAt, endedAt }: LineState): boolean {
  return refundedAt !== null && endedAt !== null && endedAt <= refundedAt;
}

/** Whether the next charge has failed already, or is put off by a pause. */
const isHeldUp = ({ billingIssueDetectedAt, pausedAt }: LineState) =>
  billingIssueDetectedAt !== null || pausedAt !== null;

/** Whether a period follows this one unless somebody acts. A one-time purchase has no period type. */
function renews({ periodType, store, unsubscribedAt, isLifetime }: Line): boolean {
  const renewing = periodType !== null && !NOT_RENEWING.has(periodType) && store !== "PROMOTIONAL";
  return renewing && !isLifetime && unsubscribedAt === null;
}

/** Whether a line should have renewed, or is a subscription, and nobody has told until when it goes. */
export function isOverdue(line: Line, at: Date): boolean {
  const { currentPeriodEndsAt: end, endedAt } = line;
  if (endedAt || line.isLifetime) return false;
  if (end === null) return line.periodType !== null;
  return end <= at && !isHeldUp(line) && renews(line);
}

/** When access ends or ended, as far as is known; null for lifetime. */
function accessEnd(line: Line, leewaySeconds: number): Date | null {
  const end = line.currentPeriodEndsAt;
  if (line.endedAt) return line.endedAt;
  if (line.isLifetime) return null;
  return latest(end && plusSeconds(end, leewaySeconds), line.billingIssueDetectedAt && line.gracePeriodEndsAt);
}

function compareLines(a: LineStatus, b: LineStatus): number {
  return (
    Number(b.isActive) - Number(a.isActive) ||
    Number(b.isLifetime) - Number(a.isLifetime) ||
    (b.accessEndsAt?.getTime() ?? 0) - (a.accessEndsAt?.getTime() ?? 0)
  );
}

/** One entry an entitlement: active before not, then without an end, then the latest end. */
function unite(all: Entitlement[]): Entitlement[] {
  const end = ({ expiresAt }: Entitlement) => expiresAt?.getTime() ?? Number.MAX_SAFE_INTEGER;
  const best = new Map<string, Entitlement>();
  for (const one of all.toSorted((a, b) => Number(a.isActive) - Number(b.isActive) || end(a) - end(b))) {
    best.set(one.id, one);
  }
  return [...best.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function latest(...times: (Date | null)[]): Date | null {
  return times.reduce((found, time) => (time && (!found || time > found) ? time : found), null);
}

const plusSeconds = (time: Date, seconds: number) => new Date(time.getTime() + seconds * 1000);
