import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep, Reauthentication } from "../account-step";
import { requireRecentVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Change email",
    intro: (email: string) =>
      `Your email is ${email}. We send a link to the new one. Nothing changes before you open that link, signed in to this account.`,
    undo: (email: string) => `We also send a link to ${email}, which undoes the change within 7 days.`,
    newEmail: "New email",
    submit: "Send link",
  },
  de: {
    title: "E-Mail-Adresse ändern",
    intro: (email) =>
      `Ihre E-Mail-Adresse ist ${email}. Wir schicken einen Link an die neue. Es ändert sich nichts, bevor Sie ihn öffnen, während Sie bei diesem Konto angemeldet sind.`,
    undo: (email) =>
      `Wir schicken auch einen Link an ${email}, der die Änderung innerhalb von 7 Tagen rückgängig macht.`,
    newEmail: "Neue E-Mail-Adresse",
    submit: "Link senden",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { user, hasPassword } = await requireRecentVisitor("/account/email", { asksForPassword: true });
  const { flash, texts } = await readPage(props, TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(user.email)}</p>
      {user.emailVerified && <p>{texts.undo(user.email)}</p>}
      <Form action="/forms/account/email" flash={flash}>
        <Field name="email" label={texts.newEmail} type="email" required autoComplete="email" />
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/email" />
        <button type="submit">{texts.submit}</button>
      </Form>
    </AccountStep>
  );
}
