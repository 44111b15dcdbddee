import { createHash } from "node:crypto";
import type { Context } from "../../context";
import { parseCookies } from "../../platform/http/cookies/cookies";
import { decryptToken } from "../../platform/keys/encrypted-token";

/** The secrets that next-auth uses in one call: for its CSRF token, and for the cookies of a sign-in at a provider. */
export type CallSecrets = { csrf: string; checks: string };

const CHECK_COOKIE = /next-auth\.(state|nonce|pkce\.code_verifier)$/;
const CSRF_COOKIE = /next-auth\.csrf-token$/;

/**
 * next-auth knows one secret. During a rotation it gets the one that made the browser's cookies, so that a form that was
 * open and a sign-in that was at the provider still succeed. New cookies of a sign-in are made with the first secret.
 */
export async function secretsOfCall(
  { secrets }: Pick<Context["config"], "secrets">,
  { segments, cookieHeader }: { segments: string[]; cookieHeader: string | null },
): Promise<CallSecrets> {
  const [first, ...others] = secrets;
  if (others.length === 0) return { csrf: first, checks: first };
  const cookies = Object.entries(parseCookies(cookieHeader));
  const csrf = secrets.find((secret) =>
    cookies.some(([name, value]) => CSRF_COOKIE.test(name) && isCsrf(value, secret)),
  );
  if (segments[0] !== "callback") return { csrf: csrf ?? first, checks: first };
  for (const secret of secrets) {
    for (const [name, value = ""] of cookies) {
      if (!CHECK_COOKIE.test(name) || !(await decryptToken([secret], value, name))) continue;
      return { csrf: csrf ?? first, checks: secret };
    }
  }
  return { csrf: csrf ?? first, checks: first };
}

/** Whether a CSRF cookie, "token|hash", was made with a secret. next-auth compares it again. */
function isCsrf(cookie: string | undefined, secret: string): boolean {
  const [token, hash] = cookie?.split("|") ?? [];
  return hash !== undefined && createHash("sha256").update(`${token}${secret}`).digest("hex") === hash;
}
