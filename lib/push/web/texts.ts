import { LOCALES, type Locale } from "../../platform/locale";

type Text = { title: string; body: string };

/** The texts that iOS apps localize themselves. "{0}" is the first argument. */
const TEXTS: Readonly<Record<string, Record<Locale, Text>>> = {
  "security.new_sign_in": {
    en: { title: "New sign-in", body: "{0} signed in to your account." },
    de: { title: "Neue Anmeldung", body: "{0} hat sich in Ihrem Konto angemeldet." },
  },
  "security.password_changed": {
    en: { title: "Password changed", body: "The password of your account has been changed." },
    de: { title: "Passwort geändert", body: "Das Passwort Ihres Kontos wurde geändert." },
  },
  "billing.payment_failed": {
    en: { title: "Payment failed", body: "Your subscription could not be renewed. Please check your payment method." },
    de: {
      title: "Zahlung fehlgeschlagen",
      body: "Ihr Abo konnte nicht verlängert werden. Bitte prüfen Sie Ihre Zahlungsart.",
    },
  },
  "billing.expired": {
    en: { title: "Subscription expired", body: "Your subscription has ended." },
    de: { title: "Abo abgelaufen", body: "Ihr Abo ist beendet." },
  },
  "billing.renewed": {
    en: { title: "Subscription renewed", body: "Your subscription has been renewed." },
    de: { title: "Abo verlängert", body: "Ihr Abo wurde verlängert." },
  },
  "billing.trial_ending": {
    en: {
      title: "Trial ends soon",
      body: "Your free trial ends soon. After that, you will be charged for your subscription.",
    },
    de: {
      title: "Probezeit endet bald",
      body: "Ihre kostenlose Probezeit endet bald. Danach wird Ihnen Ihr Abo berechnet.",
    },
  },
  "app.new_version": {
    en: { title: "New version", body: "Version {0} is available." },
    de: { title: "Neue Version", body: "Version {0} ist verfügbar." },
  },
};

/** For a kind that has no text of its own. */
const OTHER: Record<Locale, Text> = {
  en: { title: "Your account", body: "There is news about your account." },
  de: { title: "Ihr Konto", body: "Es gibt Neuigkeiten zu Ihrem Konto." },
};

/** Returns the text of a kind in a language. null: the first of LOCALES. */
export function textOfKind(kind: string, args: readonly string[], locale: Locale | null): Text {
  const { title, body } = (TEXTS[kind] ?? OTHER)[locale ?? LOCALES[0]];
  return { title, body: body.replaceAll(/\{(\d)\}/g, (_, index) => args[Number(index)] ?? "") };
}
