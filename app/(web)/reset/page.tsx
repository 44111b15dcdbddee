import { pageContext } from "@/lib/auth/visitor";
import { PasswordField } from "../components/field";
import { Form } from "../components/form";
import { type PageProps, readPage } from "../components/page-props";
import { LinkCodeField, TokenField } from "../components/token-field";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Set a new password",
    hint: (minLength: number) => `At least ${minLength} characters. You will be signed out everywhere.`,
    submit: "Change password",
    again: "Request a new link",
  },
  de: {
    title: "Neues Passwort festlegen",
    hint: (minLength) => `Mindestens ${minLength} Zeichen. Sie werden überall abgemeldet.`,
    submit: "Passwort ändern",
    again: "Neuen Link anfordern",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { flash, texts, common } = await readPage(props, TEXTS);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <Form action="/forms/reset" flash={flash}>
        <TokenField />
        {pageContext().config.AUTH_LINKS_NEED_CODE && <LinkCodeField />}
        <PasswordField label={common.newPassword} hint={texts.hint(pageContext().config.AUTH_PASSWORD_MIN)} isNew />
        <button type="submit">{texts.submit}</button>
      </Form>
      <p className="aside">
        <a href="/forgot">{texts.again}</a>
      </p>
    </div>
  );
}
