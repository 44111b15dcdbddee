import type { Metadata } from "next";
import { headers } from "next/headers";
import { cache } from "react";
import { findVisitor } from "@/lib/auth/visitor";
import { LOCALES, type Locale, preferredLocale, toLocale } from "@/lib/platform/locale";
import type { Principal } from "@/lib/principal";
import type { Texts } from "./texts";

/** Who is signed in; null also while the database is unavailable. Looked up once for each page. */
export const currentVisitor = cache(async (): Promise<Principal | null> => {
  try {
    return await findVisitor(await headers());
  } catch {
    return null; // pages that need a session report it; the others work without
  }
});

/** The language of the page: the account's, else the one that the browser prefers (Accept-Language), else English. */
export const pageLocale = cache(async (): Promise<Locale> => {
  const given = await headers();
  const visitor = await currentVisitor();
  return toLocale(visitor?.account.locale) ?? preferredLocale(given.get("accept-language")) ?? LOCALES[0];
});

/** A page's texts in its language. */
export async function textsOf<T>(texts: Texts<T>): Promise<T> {
  return texts[await pageLocale()];
}

/** `generateMetadata` of a page whose texts have its `title`. Search engines list pages with `isPublic` alone. */
export function titleOf(texts: Texts<{ title: string }>, { isPublic = false } = {}): () => Promise<Metadata> {
  return async () => {
    const { title } = await textsOf(texts);
    return isPublic ? { title } : { title, robots: { index: false } };
  };
}
