import type { Config } from "@/lib/platform/config";
import type { Locale } from "@/lib/platform/locale";
import { FRAME } from "./texts";

type Props = {
  config: Pick<Config, "BRAND_NAME" | "BRAND_SUPPORT" | "BRAND_TERMS_URL" | "BRAND_PRIVACY_URL" | "BRAND_IMPRINT_URL">;
  locale: Locale;
};

/** The company's name, help and legal pages. */
export function SiteFooter({ config, locale }: Props) {
  const texts = FRAME[locale];
  const links = [
    [texts.support, config.BRAND_SUPPORT?.href],
    [texts.terms, config.BRAND_TERMS_URL],
    [texts.privacy, config.BRAND_PRIVACY_URL],
    [texts.imprint, config.BRAND_IMPRINT_URL],
    [texts.reference, "/docs"],
  ].filter(([, href]) => href !== undefined);
  return (
    <footer className="site-footer">
      <span>{config.BRAND_NAME}</span>
      <nav aria-label={texts.more}>
        {links.map(([label, href]) => (
          <a key={label} href={href}>
            {label}
          </a>
        ))}
      </nav>
    </footer>
  );
}
