import { z } from "zod";

/** The field of a form that says which page comes next; whatever it is, `ownPath` has to read it. */
export const NextPage = z.object({ callbackUrl: z.string().optional() });

/**
 * Where to go after a form, as a path of this service: what names another host, or is no address at all, counts
 * for nothing and `otherwise` does.
 */
export function ownPath(given: string | undefined, baseUrl: string, otherwise: string): string {
  if (given === undefined || !URL.canParse(given, baseUrl)) return otherwise;
  const { origin, pathname, search } = new URL(given, baseUrl);
  // A path that begins with two slashes would be read as a host.
  return origin === new URL(baseUrl).origin && !pathname.startsWith("//") ? pathname + search : otherwise;
}

/** The sign-in page, for somebody who has to come back to `page`. */
export function signInPath(page: string): string {
  return `/sign-in?${new URLSearchParams({ callbackUrl: page, error: "SessionRequired" })}`;
}
