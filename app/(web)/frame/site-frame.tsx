import type { ReactNode } from "react";
import { pageContext } from "@/lib/auth/visitor";
import type { Config } from "@/lib/platform/config";
import type { Locale } from "@/lib/platform/locale";
import type { Principal } from "@/lib/principal";
import { ReloadRestoredPage } from "../components/reload-restored-page";
import { currentVisitor, pageLocale } from "../language/page-language";
import { SiteProvider } from "../language/site-context";
import { AccountMenu } from "./account-menu";
import { FRAME } from "./texts";
import "../styles/components.css";
import "../styles/frame.css";
import "../styles/controls.css";
import "../styles/print.css";

type Frame = { config: Config; locale: Locale };

type Props = {
  /** Whether the page is rendered without its visitor: see `AccountMenu`. */
  isForEverybody?: boolean;
  children: ReactNode;
};

/** The header and the footer of the public pages. */
export async function SiteFrame({ isForEverybody, children }: Props) {
  const { config } = pageContext();
  const locale = await pageLocale();
  const visitor = await currentVisitor();
  return (
    <SiteProvider site={{ locale, support: config.BRAND_SUPPORT ?? null, accountId: visitor?.account.id ?? null }}>
      <SiteHeader config={config} visitor={visitor?.account ?? null} locale={locale} isForEverybody={isForEverybody} />
      <main id="content">{children}</main>
      <ReloadRestoredPage />
      <SiteFooter config={config} locale={locale} />
    </SiteProvider>
  );
}

type HeaderProps = Frame & { visitor: Principal["account"] | null; isForEverybody: boolean | undefined };

/** The company's name, the main pages, and who is signed in. */
function SiteHeader({ config, visitor, locale, isForEverybody }: HeaderProps) {
  const texts = FRAME[locale];
  return (
    <header className="site-header">
      <a className="brand" href="/">
        <Logo config={config} />
        {config.BRAND_NAME}
      </a>
      <nav aria-label={texts.main}>
        <a href="/download">{texts.download}</a>
        <AccountMenu
          visitor={visitor && { name: visitor.name, email: visitor.email, isOperator: visitor.role !== "user" }}
          isForEverybody={isForEverybody}
        />
      </nav>
    </header>
  );
}

/** The company's logo, or Homeport's. The name beside it says what it is. */
function Logo({ config }: Pick<Frame, "config">) {
  if (config.BRAND_LOGO) {
    return (
      <picture>
        {config.BRAND_LOGO_DARK && <source srcSet="/brand/logo?theme=dark" media="(prefers-color-scheme: dark)" />}
        <img className="logo" src="/brand/logo" alt="" />
      </picture>
    );
  }
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <path d="M6 9v7a10 10 0 0 0 20 0V9" fill="none" stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" />
      <circle cx="16" cy="13" r="3.5" fill="currentColor" />
    </svg>
  );
}

/** The company's name, help and legal pages. */
function SiteFooter({ config, locale }: Frame) {
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
