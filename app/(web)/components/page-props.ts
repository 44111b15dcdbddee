import { headers } from "next/headers";
import { pageContext } from "@/lib/auth/visitor";
import { type Flash, readFlash } from "@/lib/platform/http/pages/flash";
import { readKeptForm } from "@/lib/platform/http/pages/kept-form";
import { COMMON } from "../language/common-texts";
import { translateError } from "../language/german-errors";
import { currentVisitor, pageLocale } from "../language/page-language";
import type { Texts } from "../language/texts";

export type PageProps = { searchParams: Promise<Record<string, string | string[] | undefined>> };

/** A page's query parameters. Of a repeated parameter, the first value. */
export async function queryOf({ searchParams }: PageProps): Promise<Record<string, string | undefined>> {
  const given = Object.entries(await searchParams);
  return Object.fromEntries(given.map(([name, value]) => [name, [value].flat()[0]]));
}

/**
 * What a form's redirect to the page carries: its errors, or what it was sent with before its author had to sign in again.
 */
export async function readFormState(cookieHeader: string | null, id: string | undefined): Promise<Flash | null> {
  if (id === undefined) return null;
  const ctx = pageContext();
  const flash = readFlash(ctx.config, cookieHeader, id);
  const visitor = flash === null ? await currentVisitor() : null;
  return visitor ? readKeptForm(ctx, visitor, cookieHeader, id) : flash;
}

/**
 * What a page is made of: its query parameters, the state of its form, its texts, and those that many pages have, in its
 * language.
 */
export async function readPage<T>(props: PageProps, texts: Texts<T>) {
  const [query, locale] = [await queryOf(props), await pageLocale()];
  return { query, flash: await flashOf(query.formErrors), locale, texts: texts[locale], common: COMMON[locale] };
}

/** The errors of a form that was posted without JavaScript, identified by the query parameter `formErrors`. */
export async function flashOf(formErrors: string | undefined): Promise<Flash | null> {
  const flash = await readFormState((await headers()).get("cookie"), formErrors);
  if (!flash) return null;
  const locale = await pageLocale();
  const fields = Object.entries(flash.fields).map(([name, text]) => [name, translateError(text, locale)]);
  return { ...flash, message: translateError(flash.message, locale), fields: Object.fromEntries(fields) };
}
