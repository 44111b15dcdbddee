import type { Config } from "../config";

type BaseUrl = Pick<Config, "baseUrl">;

const isSecure = ({ baseUrl }: BaseUrl) => baseUrl.startsWith("https:");

/** The name of the session cookie; `__Host-` binds it to this host and to https (RFC 6265bis, 4.1.3.2). */
export function sessionCookieName(config: BaseUrl): string {
  return isSecure(config) ? "__Host-next-auth.session-token" : "next-auth.session-token";
}

/** The cookie as next-auth's options take it. */
export function sessionCookieOptions(config: BaseUrl) {
  return { httpOnly: true, sameSite: "lax" as const, path: "/", secure: isSecure(config) };
}

/** The Set-Cookie header of a session; without a token, the one that takes it away. */
export function setSessionCookie(config: BaseUrl, token: string | null, expiresAt: Date): string {
  return setCookie(config, sessionCookieName(config), token, expiresAt);
}

/** The name of the cookie that tells, when a browser comes back from a provider, which session sent it there. */
export function startedByCookieName(config: BaseUrl): string {
  return isSecure(config) ? "__Host-next-auth.started-by" : "next-auth.started-by";
}

/** The name of the cookie that tells with which identity a browser signed in before its address was verified. */
export function pendingIdentityCookieName(config: BaseUrl): string {
  return isSecure(config) ? "__Host-next-auth.pending-identity" : "next-auth.pending-identity";
}

/** The name of the cookie that takes a form's refusal to the page that is shown again. */
export function formCookieName(config: BaseUrl): string {
  return isSecure(config) ? "__Host-homeport.form" : "homeport.form";
}

/** The name of the cookie that tells one browser from others, so that strangers' failures do not hold its owner. */
export function deviceCookieName(config: BaseUrl): string {
  return isSecure(config) ? "__Host-homeport.device" : "homeport.device";
}

/** The Set-Cookie header of a cookie that no script reads; without a value, the one that takes it away. */
export function setCookie(config: BaseUrl, name: string, value: string | null, expiresAt: Date): string {
  return [
    `${name}=${value ?? ""}`,
    "Path=/",
    `Expires=${(value === null ? new Date(0) : expiresAt).toUTCString()}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(isSecure(config) ? ["Secure"] : []),
  ].join("; ");
}

/** All cookies of a request, by name; of two with one name the first counts. */
export function parseCookies(header: string | null): Record<string, string> {
  const cookies: Record<string, string> = {};
  for (const pair of (header ?? "").split(";")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (at < 0 || name in cookies) continue;
    cookies[name] = decodePercent(pair.slice(at + 1).trim());
  }
  return cookies;
}

/** The session token in a Cookie header. next-auth cuts long values into name.0, name.1, …; ours are short. */
export function sessionCookie(header: string | null, config: BaseUrl): string | null {
  return parseCookies(header)[sessionCookieName(config)] ?? null;
}

/** Undoes percent-encoding; what is none stays as it is. */
export function decodePercent(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
