import { pageContext } from "@/lib/auth/visitor";
import { continuingTo, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { COMMON } from "../language/common-texts";
import { pageLocale, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { LegalNote } from "./legal-note";

const TEXTS = defineTexts({
  en: { title: "Create account", name: "Name (optional)", hasAccount: "Already have an account?" },
  de: { title: "Konto erstellen", name: "Name (freiwillig)", hasAccount: "Haben Sie schon ein Konto?" },
});

export const generateMetadata = titleOf(TEXTS, { isPublic: true });

export default async function Page(props: PageProps) {
  const { formErrors, callbackUrl } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const { config } = pageContext();
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, config, "/account");
  const locale = await pageLocale();
  const [texts, common] = [TEXTS[locale], COMMON[locale]];
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <Form action="/forms/register" flash={flash}>
        {next !== "/account" && <input type="hidden" name="callbackUrl" value={next} />}
        <Field name="name" label={texts.name} autoComplete="name" maxLength={80} />
        <Field name="email" label={common.email} type="email" required autoComplete="username" />
        <Field
          name="password"
          label={common.password}
          hint={common.passwordHint(config.AUTH_PASSWORD_MIN)}
          type="password"
          required
          autoComplete="new-password"
        />
        <button type="submit">{texts.title}</button>
      </Form>
      <LegalNote config={config} locale={locale} />
      <p className="aside">
        {texts.hasAccount} <a href={continuingTo(next, "/sign-in")}>{common.signIn}</a>
      </p>
    </div>
  );
}
