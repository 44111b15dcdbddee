import { pageContext } from "@/lib/auth/visitor";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { kindField, readPreferences } from "@/lib/push/preferences";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import type { Visitor } from "./require-visitor";

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

const FORM = "/forms/account/notifications";

/** What the account's devices are notified of, and when. */
export async function Notifications({ visitor, flash }: { visitor: Visitor; flash: Flash | null }) {
  const { kinds, quietHours } = await readPreferences(pageContext().db, visitor.account.id);
  const texts = await textsOf(NOTIFICATIONS);
  return (
    <section className="card" aria-labelledby="notifications">
      <h2 id="notifications">{texts.title}</h2>
      <Form action={FORM} flash={flash?.form === FORM ? flash : null}>
        <fieldset>
          <legend>{texts.intro}</legend>
          {Object.entries(kinds).map(([kind, isOn]) => (
            <label key={kind} className="check">
              <input type="checkbox" name={kindField(kind)} value="on" defaultChecked={isOn} />{" "}
              {texts.kinds[kind] ?? kind}
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>{texts.quietHours}</legend>
          <p className="hint">{texts.quietHint}</p>
          <Field name="startsAt" label={texts.startsAt} type="time" defaultValue={quietHours?.startsAt} />
          <Field name="endsAt" label={texts.endsAt} type="time" defaultValue={quietHours?.endsAt} />
        </fieldset>
        <button type="submit" className="quiet">
          {texts.save}
        </button>
      </Form>
    </section>
  );
}
