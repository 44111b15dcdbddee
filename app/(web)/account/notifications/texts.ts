import { defineTexts } from "../../language/texts";

/** The section of the account page that says what its devices are notified of. */
export const NOTIFICATIONS = defineTexts({
  en: {
    title: "Notifications",
    intro: "Your devices are always notified of what concerns your account’s security. What else?",
    kinds: {
      "billing.payment_failed": "A payment has failed",
      "billing.expired": "A subscription has ended",
      "billing.renewed": "A subscription was renewed",
      "billing.trial_ending": "A free trial ends soon",
      "app.new_version": "A new version is available",
      custom: "Other messages from us",
    } as Record<string, string>,
    quietHours: "Quiet hours",
    quietHint: "Notifications wait until they are over, by the clock of each device. Leave both empty for none.",
    startsAt: "From",
    endsAt: "Until",
    save: "Save",
  },
  de: {
    title: "Mitteilungen",
    intro: "Was die Sicherheit Ihres Kontos betrifft, erfahren Ihre Geräte immer. Und sonst?",
    kinds: {
      "billing.payment_failed": "Eine Zahlung ist fehlgeschlagen",
      "billing.expired": "Ein Abonnement ist zu Ende",
      "billing.renewed": "Ein Abonnement wurde verlängert",
      "billing.trial_ending": "Eine kostenlose Probezeit endet bald",
      "app.new_version": "Eine neue Version ist verfügbar",
      custom: "Andere Nachrichten von uns",
    },
    quietHours: "Ruhezeit",
    quietHint: "Mitteilungen warten, bis sie vorbei ist, nach der Uhr jedes Geräts. Für keine lassen Sie beides leer.",
    startsAt: "Von",
    endsAt: "Bis",
    save: "Speichern",
  },
});
