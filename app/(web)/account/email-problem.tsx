import type { User } from "@/lib/accounts/schema";
import { Notice } from "../components/notice";
import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const EMAIL_PROBLEM = defineTexts({
  en: {
    bounced: (email: string) => `Emails to ${email} come back: its mail server refuses them.`,
    complained: (email: string) => `An email to ${email} was reported as spam, so that we send you no notices there.`,
    forwarding_off: (email: string) =>
      `Apple does not forward emails to ${email} any more, as you told it. Turn forwarding on in the settings of your Apple account.`,
    toAccount: (
      <>
        For now, notices about your account go to your devices alone. <a href="/account/email">Change your email</a>, or{" "}
        <a href="/account#sign-in-methods">verify it again</a> if it works.
      </>
    ),
  },
  de: {
    bounced: (email) => `E-Mails an ${email} kommen zurück: Der Mailserver nimmt sie nicht an.`,
    complained: (email) =>
      `Eine E-Mail an ${email} wurde als Spam gemeldet. Deshalb schicken wir Ihnen dorthin keine Mitteilungen.`,
    forwarding_off: (email) =>
      `Apple leitet E-Mails an ${email} nicht mehr weiter, wie Sie es dort eingestellt haben. Schalten Sie die Weiterleitung in den Einstellungen Ihres Apple-Kontos ein.`,
    toAccount: (
      <>
        Mitteilungen zu Ihrem Konto bekommen Sie vorerst nur auf Ihren Geräten.{" "}
        <a href="/account/email">Ändern Sie Ihre E-Mail-Adresse</a>, oder{" "}
        <a href="/account#sign-in-methods">bestätigen Sie sie noch einmal</a>, wenn sie funktioniert.
      </>
    ),
  },
});

/** Tells the visitor that emails do not reach them, and what to do. */
export async function EmailProblem({ user: { email, emailProblem } }: { user: User }) {
  const texts = await textsOf(EMAIL_PROBLEM);
  const describe =
    emailProblem === "bounced" || emailProblem === "complained" || emailProblem === "forwarding_off"
      ? texts[emailProblem]
      : null;
  return (
    describe && (
      <Notice kind="error">
        {describe(email)} {texts.toAccount}
      </Notice>
    )
  );
}
