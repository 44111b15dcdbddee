import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { pageContext } from "@/lib/auth/visitor";
import { brandStylesheetPath } from "@/lib/platform/brand";
import { FRAME } from "./(web)/frame/texts";
import { pageLocale } from "./(web)/language/page-language";
import "./(web)/styles/base.css";
import "./(web)/styles/forms.css";

export function generateMetadata(): Metadata {
  const { BRAND_NAME: name, BRAND_LOGO: logo } = pageContext().config;
  return { title: { default: name, template: `%s – ${name}` }, icons: { icon: logo ? "/brand/logo" : "/icon.svg" } };
}

export const viewport: Viewport = { colorScheme: "light dark" };

// Every response has its own nonce.
export const dynamic = "force-dynamic";

/** What the public pages and the console share. Each has its own frame. */
export default async function Layout({ children }: { children: ReactNode }) {
  const locale = await pageLocale();
  const stylesheet = brandStylesheetPath(pageContext().config);
  return (
    <html lang={locale}>
      <body>
        {stylesheet && <link rel="stylesheet" href={stylesheet} precedence="brand" />}
        <a className="skip" href="#content">
          {FRAME[locale].skip}
        </a>
        {children}
      </body>
    </html>
  );
}
