import type { Config } from "@/lib/platform/config";
import type { Locale } from "@/lib/platform/locale";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
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
export function LegalNote({ config: { BRAND_TERMS_URL: terms, BRAND_PRIVACY_URL: privacy }, locale }: Props) {
  if (!terms && !privacy) return null;
  return (
    <p className="aside">
      {terms && TEXTS[locale].terms(terms)} {privacy && TEXTS[locale].privacy(privacy)}
    </p>
  );
}
