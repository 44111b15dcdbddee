import { headers } from "next/headers";
import { type Flash, readFlash } from "@/lib/http/pages/flash";
import { pageContext } from "@/lib/http/pages/visitor";

export type PageProps = { searchParams: Promise<Record<string, string | string[] | undefined>> };

/** A page's query: of a parameter that comes twice the first counts. */
export async function queryOf({ searchParams }: PageProps): Promise<Record<string, string | undefined>> {
  const given = Object.entries(await searchParams);
  return Object.fromEntries(given.map(([name, value]) => [name, [value].flat()[0]]));
}

/** What a form of this page said when it was refused, as the query's `again` names it. */
export async function flashOf(again: string | undefined): Promise<Flash | null> {
  return readFlash(pageContext().config, (await headers()).get("cookie"), again);
}
