import { pageContext } from "@/lib/auth/visitor";
import { productName } from "@/lib/platform/brand";
import type { Locale } from "@/lib/platform/locale";
import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { accessOf } from "@/lib/subscriptions/status/purchase-status";
import { readSubscriptionStatus } from "@/lib/subscriptions/status/read-status";
import { Day } from "../components/time";
import { pageLocale } from "../language/page-language";
import { defineTexts } from "../language/texts";
import type { Visitor } from "./require-visitor";

/** Words after a state: "until 3 Dec 2026", or nothing if the time is unknown. */
type Words = (date: string) => string;
const after =
  (word: string): Words =>
  (date) =>
    date && ` ${word} ${date}`;
const sentence =
  (word: string): Words =>
  (date) =>
    date && ` ${word} ${date}.`;

export const SUBSCRIPTION = defineTexts({
  en: {
    title: "Subscription",
    purchase: "Purchase",
    manage: "Manage",
    since: "Since",
    notCounted: "A test purchase, which gives no access.",
    web: "Web",
    promotion: "Promotion",
    none: "You have no subscription.",
    lifetime: "Lifetime access.",
    active: "Active.",
    renewsOn: sentence("Renews on"),
    endsOn: sentence("Ends on"),
    trial: "Free trial",
    until: after("until"),
    renewsAfterwards: " Renews automatically afterwards.",
    canceled: "Canceled. You have access",
    failedWithAccess: "The last payment failed. You have access",
    update: "Update your payment method in the store.",
    failed: "The last payment failed, and access has ended.",
    paused: "Paused.",
    resumesOn: sentence("Resumes on"),
    expired: "Expired",
    revoked: "Refunded or revoked",
    on: after("on"),
  },
  de: {
    title: "Abonnement",
    purchase: "Kauf",
    manage: "Verwalten",
    since: "Seit",
    notCounted: "Ein Testkauf, der keinen Zugang gibt.",
    web: "Web",
    promotion: "Aktion",
    none: "Sie haben kein Abonnement.",
    lifetime: "Zugang auf Dauer.",
    active: "Aktiv.",
    renewsOn: sentence("Verlängert sich am"),
    endsOn: sentence("Endet am"),
    trial: "Kostenlose Probezeit",
    until: after("bis zum"),
    renewsAfterwards: " Verlängert sich danach automatisch.",
    canceled: "Gekündigt. Sie haben Zugang",
    failedWithAccess: "Die letzte Zahlung ist fehlgeschlagen. Sie haben Zugang",
    update: "Aktualisieren Sie Ihre Zahlungsmethode im Store.",
    failed: "Die letzte Zahlung ist fehlgeschlagen, und der Zugang ist beendet.",
    paused: "Pausiert.",
    resumesOn: sentence("Läuft weiter ab"),
    expired: "Abgelaufen",
    revoked: "Erstattet oder widerrufen",
    on: after("am"),
  },
});

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

/** The account's subscription status, and the purchases it is computed from. */
export async function Subscription({ visitor }: { visitor: Visitor }) {
  const ctx = pageContext();
  const status = await readSubscriptionStatus(ctx, visitor);
  const locale = await pageLocale();
  const texts = SUBSCRIPTION[locale];
  const nameOf = ({ productId }: PurchaseStatus) =>
    productId === null ? texts.purchase : (productName(ctx.config, productId) ?? productId);
  const storeOf = ({ store }: PurchaseStatus) => {
    if (store !== null && WEB_STORES.includes(store)) return texts.web;
    return store === "PROMOTIONAL" ? texts.promotion : (STORES[store ?? ""] ?? store);
  };
  return (
    <section className="card" aria-labelledby="subscription">
      <h2 id="subscription">{texts.title}</h2>
      <p className={status.isActive ? "status ok" : "status"}>{describeStatus(status, locale)}</p>
      {status.subscriptions.length > 0 && (
        <ul className="rows">
          {status.subscriptions.map((purchase, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: purchases have no key, and their order does not change.
            <li key={i} className="row">
              <div className="details">
                <strong>{nameOf(purchase)}</strong> <span className="tag">{storeOf(purchase)}</span>
                <p>
                  {describePurchase(purchase, locale)}
                  {purchase.startedAt && (
                    <>
                      {" "}
                      {texts.since} <Day at={purchase.startedAt} />.
                    </>
                  )}
                </p>
              </div>
              {purchase.managementUrl && <a href={purchase.managementUrl}>{texts.manage}</a>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const STORES: Record<string, string> = {
  APP_STORE: "App Store",
  MAC_APP_STORE: "Mac App Store",
  PLAY_STORE: "Google Play",
  AMAZON: "Amazon Appstore",
};
const WEB_STORES = ["STRIPE", "RC_BILLING", "PADDLE"];
