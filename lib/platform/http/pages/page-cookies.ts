import { z } from "zod";
import type { Context } from "../../../context";
import { formOperation } from "../../../operation";
import type { Config } from "../../config";
import type { ReadableHeaders } from "../../http-message";
import { decryptSecret, encryptSecret } from "../../keys/stored-secrets";
import {
  cookieName,
  parseCookies,
  readEncryptedCookie,
  setCookie,
  setEncryptedCookie,
  setShortCookie,
} from "../cookies";
import { trustedUrl } from "./redirect-paths";

/** The links that have to be kept while who opened them signs in. */
type Link = "emailChange" | "firstOperator";

const LinkClaims = z.object({ token: z.string() });

/** The Set-Cookie header that keeps a link's token while its owner registers or signs in. It is encrypted. */
export function setLinkCookie(
  config: Context["config"],
  now: Date,
  link: Link,
  { token, ttlSeconds }: { token: string; ttlSeconds: number },
): Promise<string> {
  return setEncryptedCookie(config, now, { name: cookieName(config, link), claims: { token }, ttlSeconds });
}

/** The token of the link that this browser has opened; null if there is none. */
export async function readLinkCookie(config: Context["config"], link: Link, cookieHeader: string | null) {
  const claims = await readEncryptedCookie(config, cookieHeader, cookieName(config, link));
  return LinkClaims.safeParse(claims).data?.token ?? null;
}

/** The Set-Cookie header that removes the link's token. */
export function clearLinkCookie(config: Context["config"], now: Date, link: Link): string {
  return setCookie(config, cookieName(config, link), null, now);
}

/** As long as a person may look for the email. */
const RETURN_TTL_SECONDS = 60 * 60;

type UrlConfig = Pick<Config, "baseUrl" | "AUTH_TRUSTED_ORIGINS">;

/**
 * Keeps the page that a person came from until the emailed link is opened in this browser. A cookie: in the email it would
 * let anybody choose where our link leads. Without `page` it removes the cookie. Returns the Set-Cookie header.
 */
export function setReturnCookie(config: UrlConfig, page: string | undefined): string {
  const value = page === undefined ? "" : Buffer.from(page).toString("base64url");
  return setShortCookie(config, cookieName(config, "returnTo"), value, value === "" ? 0 : RETURN_TTL_SECONDS);
}

/** The page to return to; undefined without the cookie. */
export function readReturnCookie(config: UrlConfig, cookieHeader: string | null): string | undefined {
  const value = parseCookies(cookieHeader)[cookieName(config, "returnTo")];
  return value ? trustedUrl(Buffer.from(value, "base64url").toString(), config, "/account") : undefined;
}

type SecretDeps = Pick<Context, "config" | "db">;
/** Recovery codes have a cookie of their own: an operator may get another secret in the meantime. */
type ShownCookie = "recoveryCodes" | "shownSecret";
/** Long enough to copy a secret, and to write ten codes down. */
const SHOWN_TTL_SECONDS: Record<ShownCookie, number> = { recoveryCodes: 10 * 60, shownSecret: 5 * 60 };

const cookieOf = (kind: string): ShownCookie => (kind === "recovery-codes" ? "recoveryCodes" : "shownSecret");
const purposeOf = (accountId: string, kind: string) => `shown:${kind}:${accountId}`;

/**
 * The Set-Cookie header that carries a new secret over the redirect to the page that shows it: the database has only
 * its hash. It is encrypted, and only this account's page for this `kind` can read it.
 */
export async function setShownSecretCookie(ctx: SecretDeps, accountId: string, kind: string, secret: string) {
  const value = await encryptSecret(ctx, purposeOf(accountId, kind), secret);
  const cookie = cookieOf(kind);
  return setShortCookie(ctx.config, cookieName(ctx.config, cookie), value, SHOWN_TTL_SECONDS[cookie]);
}

/** The Set-Cookie header that removes it, once it is saved elsewhere. */
export function clearShownSecretCookie({ config }: Pick<SecretDeps, "config">, cookie: ShownCookie): string {
  return setCookie(config, cookieName(config, cookie), null, new Date(0));
}

/** The secret to show; null if there is none of this kind for this account. */
export async function readShownSecret(ctx: SecretDeps, accountId: string, kind: string, headers: ReadableHeaders) {
  const value = parseCookies(headers.get("cookie"))[cookieName(ctx.config, cookieOf(kind))];
  if (!value) return null;
  return decryptSecret(ctx, purposeOf(accountId, kind), value).catch(() => null);
}

export const forgetShownSecret = formOperation({
  id: "forgetShownSecret",
  summary: "Stop showing a new secret",
  role: "support",
  run: () => undefined,
  form: { after: () => ({ secret: null }) },
});
