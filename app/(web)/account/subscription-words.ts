import type { LineStatus } from "@/lib/subscriptions/schema";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** A subscription's status as its owner would put it. */
export function statusInWords(line: Omit<LineStatus, "entitlements">): string {
  const on = (time: Date | null, before: string) => (time ? ` ${before} ${DAY.format(time)}` : "");
  const words: Record<LineStatus["status"], string> = {
    none: "You have no subscription.",
    active: line.isLifetime
      ? "Yours for good."
      : `Active.${line.willRenew ? sentence(on(line.currentPeriodEndsAt, "Renews on")) : sentence(on(line.accessEndsAt, "Ends on"))}`,
    trialing: `Free trial${on(line.currentPeriodEndsAt, "until")}.${line.willRenew ? " Then it renews." : ""}`,
    canceled: `Cancelled. You can use it${on(line.accessEndsAt, "until")}.`,
    grace_period: `The last payment failed; you can use it${on(line.accessEndsAt, "until")}. Check how you pay in the store.`,
    billing_retry: "Interrupted: the last payment failed. Check how you pay in the store.",
    paused: `Paused.${sentence(on(line.resumesAt, "Goes on from"))}`,
    expired: `Ended${on(line.accessEndsAt, "on")}.`,
    revoked: `Refunded or revoked${on(line.refundedAt, "on")}.`,
  };
  return words[line.status];
}

function sentence(words: string): string {
  return words && `${words}.`;
}
