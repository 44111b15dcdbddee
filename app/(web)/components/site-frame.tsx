import type { ReactNode } from "react";
import { pageContext } from "@/lib/auth/visitor";
import { SiteFooter, SiteHeader } from "../frame/header";
import { currentVisitor, pageLocale } from "../language/page-language";
import { SiteProvider } from "../language/site-context";
import "../styles/components.css";
import "../styles/frame.css";
import "../styles/controls.css";
import "../styles/print.css";
import { ReloadRestoredPage } from "./reload-restored-page";

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
