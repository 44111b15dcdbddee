import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { textsOf, titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep } from "../account-step";
import { Reauthentication } from "../reauthentication";
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
  const { formErrors } = await queryOf(props);
  const texts = await textsOf(TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(user.email)}</p>
      {user.emailVerified && <p>{texts.undo(user.email)}</p>}
      <Form action="/forms/account/email" flash={await flashOf(formErrors)}>
        <Field name="email" label={texts.newEmail} type="email" required autoComplete="email" />
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/email" />
        <button type="submit">{texts.submit}</button>
      </Form>
    </AccountStep>
  );
}
