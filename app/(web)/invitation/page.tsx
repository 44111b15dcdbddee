import { pageContext } from "@/lib/auth/visitor";
import { PasswordField } from "../components/field";
import { Form } from "../components/form";
import { type PageProps, readPage } from "../components/page-props";
import { LinkCodeField, TokenField } from "../components/token-field";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { AcceptWithPasskey } from "./accept-with-passkey";

const TEXTS = defineTexts({
  en: {
    title: "Set up your account",
    intro: "Choose how you sign in.",
    submit: "Set password",
    again: "Request a new link",
  },
  de: {
    title: "Konto einrichten",
    intro: "Wählen Sie, wie Sie sich anmelden.",
    submit: "Passwort festlegen",
    again: "Neuen Link anfordern",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { flash, texts, common } = await readPage(props, TEXTS);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <p>{texts.intro}</p>
      <Form action="/forms/invitation" flash={flash}>
        <TokenField />
        {pageContext().config.AUTH_LINKS_NEED_CODE && <LinkCodeField />}
        <PasswordField
          label={common.password}
          hint={common.passwordHint(pageContext().config.AUTH_PASSWORD_MIN)}
          isNew
        />
        <button type="submit">{texts.submit}</button>
        <AcceptWithPasskey />
      </Form>
      <p className="aside">
        <a href="/forgot">{texts.again}</a>
      </p>
    </div>
  );
}
