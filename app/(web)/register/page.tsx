import { pageContext } from "@/lib/auth/visitor";
import type { Config } from "@/lib/platform/config";
import { continuingTo, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import type { Locale } from "@/lib/platform/locale";
import { Field, PasswordField } from "../components/field";
import { Form } from "../components/form";
import { type PageProps, readPage } from "../components/page-props";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: { title: "Create account", name: "Name (optional)", hasAccount: "Already have an account?" },
  de: { title: "Konto erstellen", name: "Name (freiwillig)", hasAccount: "Haben Sie schon ein Konto?" },
});

export const generateMetadata = titleOf(TEXTS, { isPublic: true });

export default async function Page(props: PageProps) {
  const { query, flash, locale, texts, common } = await readPage(props, TEXTS);
  const { callbackUrl } = query;
  const { config } = pageContext();
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, config, "/account");
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <Form action="/forms/register" flash={flash}>
        {next !== "/account" && <input type="hidden" name="callbackUrl" value={next} />}
        <Field name="name" label={texts.name} autoComplete="name" maxLength={80} />
        <Field name="email" label={common.email} type="email" required autoComplete="username" />
        <PasswordField label={common.password} hint={common.passwordHint(config.AUTH_PASSWORD_MIN)} isNew />
        <button type="submit">{texts.title}</button>
      </Form>
      <LegalNote config={config} locale={locale} />
      <p className="aside">
        {texts.hasAccount} <a href={continuingTo(next, "/sign-in")}>{common.signIn}</a>
      </p>
    </div>
  );
}

const LEGAL = defineTexts({
  en: {
    terms: (href: string) => (
      <>
        By creating an account you accept the <a href={href}>terms of service</a>.
      </>
    ),
    privacy: (href: string) => (
      <>
        The <a href={href}>privacy policy</a> says how we use your data.
      </>
    ),
  },
  de: {
    terms: (href) => (
      <>
        Mit einem Konto akzeptieren Sie die <a href={href}>Nutzungsbedingungen</a>.
      </>
    ),
    privacy: (href) => (
      <>
        Wie wir Ihre Daten verwenden, steht in der <a href={href}>Datenschutzerklärung</a>.
      </>
    ),
  },
});

type Props = { config: Pick<Config, "BRAND_TERMS_URL" | "BRAND_PRIVACY_URL">; locale: Locale };

/** The company's terms and privacy policy; nothing if it has configured neither. */
function LegalNote({ config: { BRAND_TERMS_URL: terms, BRAND_PRIVACY_URL: privacy }, locale }: Props) {
  if (!terms && !privacy) return null;
  return (
    <p className="aside">
      {terms && LEGAL[locale].terms(terms)} {privacy && LEGAL[locale].privacy(privacy)}
    </p>
  );
}
