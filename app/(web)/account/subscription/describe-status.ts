import type { Locale } from "@/lib/platform/locale";
import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { accessOf } from "@/lib/subscriptions/status/purchase-status";
import { SUBSCRIPTION } from "./texts";

const DAYS: Record<Locale, Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }),
  de: new Intl.DateTimeFormat("de-DE", { dateStyle: "medium", timeZone: "UTC" }),
};

/** Describes one of the purchases of an account to its owner. */
export function describePurchase(purchase: PurchaseStatus, locale: Locale): string {
  return accessOf(purchase) === "not_counted" ? SUBSCRIPTION[locale].notCounted : describeStatus(purchase, locale);
}

/** Describes a subscription's status to its owner. */
export function describeStatus(purchase: Omit<PurchaseStatus, "entitlements">, locale: Locale): string {
  const texts = SUBSCRIPTION[locale];
  const day = (time: Date | null) => (time ? DAYS[locale].format(time) : "");
  const { willRenew, isLifetime, refundedAt } = purchase;
  const [periodEnd, accessEnd] = [day(purchase.currentPeriodEndsAt), day(purchase.accessEndsAt)];
  const descriptions: Record<PurchaseStatus["status"], string> = {
    none: texts.none,
    active: isLifetime
      ? texts.lifetime
      : `${texts.active}${willRenew ? texts.renewsOn(periodEnd) : texts.endsOn(accessEnd)}`,
    trialing: `${texts.trial}${texts.until(periodEnd)}.${willRenew ? texts.renewsAfterwards : ""}`,
    canceled: `${texts.canceled}${texts.until(accessEnd)}.`,
    grace_period: `${texts.failedWithAccess}${texts.until(accessEnd)}. ${texts.update}`,
    billing_retry: `${texts.failed} ${texts.update}`,
    paused: `${texts.paused}${texts.resumesOn(day(purchase.resumesAt))}`,
    expired: `${texts.expired}${texts.on(accessEnd)}.`,
    revoked: `${texts.revoked}${texts.on(day(refundedAt))}.`,
  };
  return descriptions[purchase.status];
}
