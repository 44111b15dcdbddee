import { headers } from "next/headers";
import { type Flash, readFlash } from "@/lib/http/pages/flash";
import { pageContext } from "@/lib/http/pages/visitor";
import { translateError } from "../language/german-errors";
import { pageLocale } from "../language/page-language";

export type PageProps = { searchParams: Promise<Record<string, string | string[] | undefined>> };

/** A page's query parameters. Of a repeated parameter, the first value. */
export async function queryOf({ searchParams }: PageProps): Promise<Record<string, string | undefined>> {
  const given = Object.entries(await searchParams);
  return Object.fromEntries(given.map(([name, value]) => [name, [value].flat()[0]]));
}

/** The errors of a form that was posted without JavaScript, identified by the query parameter `formErrors`. */
export async function flashOf(formErrors: string | undefined): Promise<Flash | null> {
  const flash = readFlash(pageContext().config, (await headers()).get("cookie"), formErrors);
  if (!flash) return null;
  const locale = await pageLocale();
  const fields = Object.entries(flash.fields).map(([name, text]) => [name, translateError(text, locale)]);
  return { ...flash, message: translateError(flash.message, locale), fields: Object.fromEntries(fields) };
}
