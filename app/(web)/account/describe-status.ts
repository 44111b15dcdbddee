import type { PurchaseStatus } from "@/lib/subscriptions/schema";

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** Describes a subscription's status to its owner. */
export function describeStatus(purchase: Omit<PurchaseStatus, "entitlements">): string {
  const on = (time: Date | null, prefix: string) => (time ? ` ${prefix} ${DAY.format(time)}` : "");
  const descriptions: Record<PurchaseStatus["status"], string> = {
    none: "You have no subscription.",
    active: purchase.isLifetime
      ? "Lifetime access."
      : `Active.${purchase.willRenew ? sentence(on(purchase.currentPeriodEndsAt, "Renews on")) : sentence(on(purchase.accessEndsAt, "Ends on"))}`,
    trialing: `Free trial${on(purchase.currentPeriodEndsAt, "until")}.${purchase.willRenew ? " Renews automatically afterwards." : ""}`,
    canceled: `Canceled. You have access${on(purchase.accessEndsAt, "until")}.`,
    grace_period: `The last payment failed. You have access${on(purchase.accessEndsAt, "until")}. Update your payment method in the store.`,
    billing_retry: "The last payment failed, and access has ended. Update your payment method in the store.",
    paused: `Paused.${sentence(on(purchase.resumesAt, "Resumes on"))}`,
    expired: `Expired${on(purchase.accessEndsAt, "on")}.`,
    revoked: `Refunded or revoked${on(purchase.refundedAt, "on")}.`,
  };
  return descriptions[purchase.status];
}

function sentence(words: string): string {
  return words && `${words}.`;
}
