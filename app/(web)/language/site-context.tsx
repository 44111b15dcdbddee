"use client";

import { createContext, type ReactNode, use } from "react";
import { LOCALES, type Locale } from "@/lib/platform/locale";
import type { Texts } from "./texts";

/** What components in the browser know: the page's language, where customers get help, and which account is signed in. */
export type Site = { locale: Locale; support: { label: string; href: string } | null; accountId: string | null };

const SiteContext = createContext<Site>({ locale: LOCALES[0], support: null, accountId: null });

export function SiteProvider({ site, children }: { site: Site; children: ReactNode }) {
  return <SiteContext value={site}>{children}</SiteContext>;
}

/** The site's language and support. Outside of the public pages they are English, and none. */
export function useSite(): Site {
  return use(SiteContext);
}

/** A component's texts in the page's language. */
export function useTexts<T>(texts: Texts<T>): T {
  return texts[useSite().locale];
}
