import { z } from "zod";
import type { Config } from "../../config";

/** The form field that names the next page. Untrusted: read it with `ownPath`. */
export const NextPage = z.object({ callbackUrl: z.string().optional() });

/** A URL as a path of this service; `fallback` if it names another host or is not a URL. */
export function ownPath(given: string | undefined, baseUrl: string, fallback: string): string {
  if (given === undefined || !URL.canParse(given, baseUrl)) return fallback;
  const { origin, pathname, search } = new URL(given, baseUrl);
  // Browsers read a path that begins with two slashes as a host. A blob: URL has the origin of the URL in its path.
  return origin === new URL(baseUrl).origin && /^\/(?!\/)/.test(pathname) ? pathname + search : fallback;
}

/** The same, or a URL of a trusted origin: next-auth's sign-ins return to those, too. */
export function trustedUrl(
  given: string | undefined,
  { baseUrl, AUTH_TRUSTED_ORIGINS }: Pick<Config, "baseUrl" | "AUTH_TRUSTED_ORIGINS">,
  fallback: string,
): string {
  const url = given !== undefined && URL.canParse(given) ? new URL(given) : null;
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  return isWeb && AUTH_TRUSTED_ORIGINS.includes(url.origin) ? url.href : ownPath(given, baseUrl, fallback);
}

export function continuingTo(next: string | undefined, page: string): string {
  if (next === undefined || next === "/account") return page; // the page that follows by default
  return `${page}${page.includes("?") ? "&" : "?"}${new URLSearchParams({ callbackUrl: next })}`;
}

/** The page that authenticates a signed-in user again, unless that happened recently, and continues to `page`. */
export function confirmPath(page: string): string {
  return `/confirm?${new URLSearchParams({ callbackUrl: page })}`;
}

export function signInPath(page: string): string {
  return `/sign-in?${new URLSearchParams({ callbackUrl: page, error: "SessionRequired" })}`;
}
