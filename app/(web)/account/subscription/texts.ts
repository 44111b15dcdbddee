import { defineTexts } from "../../language/texts";

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
