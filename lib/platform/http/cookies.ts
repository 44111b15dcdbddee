import { parseCookie } from "cookie";
import type { JWTPayload } from "jose";
import type { Context } from "../../context";
import type { Config } from "../config";
import { decryptToken, encryptToken } from "../keys/encrypted-token";

/** The part of the configuration that decides the names and attributes of cookies. */
export type CookieConfig = Pick<Config, "baseUrl">;

/** Whether cookies are sent over https only, and may have the prefix `__Host-`. */
export const isSecure = ({ baseUrl }: CookieConfig) => baseUrl.startsWith("https:");

/** The names of the cookies by what they carry, without the prefix. */
const NAMES = {
  session: "next-auth.session-token",
  /** The session that started a sign-in at a provider. */
  linkingSession: "next-auth.started-by",
  /** The identity of a sign-in whose email has to be verified first. */
  pendingIdentity: "next-auth.pending-identity",
  /** A form's errors, to the page that shows the form again. */
  form: "homeport.form",
  /** A submitted form, while its author signs in again. */
  keptForm: "homeport.kept-form",
  /** The link to a new email, while its owner signs in. */
  emailChange: "homeport.email-change",
  firstOperator: "homeport.first-operator",
  /** The page to return to, while a person opens an emailed link. */
  returnTo: "homeport.return-to",
  /** A sign-in's challenge, to the page that asks for the second factor. */
  challenge: "homeport.challenge",
  recoveryCodes: "homeport.recovery-codes",
  shownSecret: "homeport.shown-secret",
  /** By which an account recognizes a browser. */
  device: "homeport.device",
};

/** The name of a cookie; `__Host-` binds it to this host and to https (RFC 6265bis, 4.1.3.2). */
export function cookieName(config: CookieConfig, cookie: keyof typeof NAMES): string {
  return isSecure(config) ? `__Host-${NAMES[cookie]}` : NAMES[cookie];
}

/** The attributes of the session cookie, for next-auth's options. */
export function sessionCookieOptions(config: CookieConfig) {
  return { httpOnly: true, sameSite: "lax" as const, path: "/", secure: isSecure(config) };
}

/** The Set-Cookie header of a session; without a token it removes the cookie. */
export function setSessionCookie(config: CookieConfig, token: string | null, expiresAt: Date): string {
  return setCookie(config, cookieName(config, "session"), token, expiresAt);
}

/** A Set-Cookie header with HttpOnly and SameSite=Lax; without a value it removes the cookie. */
export function setCookie(config: CookieConfig, name: string, value: string | null, expiresAt: Date): string {
  return cookieHeader(config, name, value ?? "", `Expires=${(value === null ? new Date(0) : expiresAt).toUTCString()}`);
}

/** The same for a cookie that expires this many seconds after it was received, whatever the browser's clock is. */
export function setShortCookie(config: CookieConfig, name: string, value: string, ttlSeconds: number): string {
  return cookieHeader(config, name, value, `Max-Age=${ttlSeconds}`);
}

function cookieHeader(config: CookieConfig, name: string, value: string, expiry: string): string {
  return `${name}=${value}; Path=/; ${expiry}; HttpOnly; SameSite=Lax${isSecure(config) ? "; Secure" : ""}`;
}

/** The cookies of a Cookie header, by name. The first of several with one name counts. */
export function parseCookies(header: string | null): Record<string, string | undefined> {
  return parseCookie(header ?? "");
}

/** The session token in a Cookie header. It is short enough that next-auth never splits it into chunks. */
export function sessionCookie(header: string | null, config: CookieConfig): string | null {
  return parseCookies(header)[cookieName(config, "session")] ?? null;
}

/** Decodes percent-encoding. Returns text with invalid encoding unchanged. */
export function decodePercent(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The Set-Cookie header of a cookie whose claims only this service can write and read. Its name is the purpose. */
export async function setEncryptedCookie(
  config: Context["config"],
  now: Date,
  { name, claims, ttlSeconds }: { name: string; claims: JWTPayload; ttlSeconds: number },
): Promise<string> {
  const value = await encryptToken(config.secrets, claims, { purpose: name, ttlSeconds });
  return setCookie(config, name, value, new Date(now.getTime() + ttlSeconds * 1000));
}

/** The claims of an encrypted cookie; null if there is none, or it is invalid or expired. */
export async function readEncryptedCookie(config: Context["config"], cookieHeader: string | null, name: string) {
  const value = parseCookies(cookieHeader)[name];
  return value ? decryptToken(config.secrets, value, name) : null;
}
