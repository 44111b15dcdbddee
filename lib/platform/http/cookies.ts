import { parseCookie } from "cookie";
import type { JWTPayload } from "jose";
import type { Context } from "../../context";
import type { Config } from "../config";
import { decryptToken, encryptToken } from "../keys/encrypted-token";

/** The part of the configuration that decides the names and attributes of cookies. */
export type CookieConfig = Pick<Config, "baseUrl">;

/** Whether cookies are sent over https only, and may have the prefix `__Host-`. */
export const isSecure = ({ baseUrl }: CookieConfig) => baseUrl.startsWith("https:");

/** The name of the session cookie; `__Host-` binds it to this host and to https (RFC 6265bis, 4.1.3.2). */
export function sessionCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-next-auth.session-token" : "next-auth.session-token";
}

/** The attributes of the session cookie, for next-auth's options. */
export function sessionCookieOptions(config: CookieConfig) {
  return { httpOnly: true, sameSite: "lax" as const, path: "/", secure: isSecure(config) };
}

/** The Set-Cookie header of a session; without a token it removes the cookie. */
export function setSessionCookie(config: CookieConfig, token: string | null, expiresAt: Date): string {
  return setCookie(config, sessionCookieName(config), token, expiresAt);
}

/** The name of the cookie that stores the session that started a sign-in at a provider. */
export function linkingSessionCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-next-auth.started-by" : "next-auth.started-by";
}

/** The name of the cookie that stores the identity of a sign-in whose email has to be verified first. */
export function pendingIdentityCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-next-auth.pending-identity" : "next-auth.pending-identity";
}

/** The name of the cookie that carries a form's errors to the page that shows the form again. */
export function formCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.form" : "homeport.form";
}

/** The name of the cookie that keeps a submitted form while its author signs in again. */
export function keptFormCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.kept-form" : "homeport.kept-form";
}

/** The name of the cookie that keeps the link to a new email while its owner signs in. */
export function emailChangeCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.email-change" : "homeport.email-change";
}

/** The name of the cookie that keeps the page to return to while a person opens an emailed link. */
export function returnCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.return-to" : "homeport.return-to";
}

/** The name of the cookie that carries a sign-in's challenge to the page that asks for the second factor. */
export function challengeCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.challenge" : "homeport.challenge";
}

/** The name of the cookie that carries new recovery codes to the page that shows them. */
export function recoveryCodesCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.recovery-codes" : "homeport.recovery-codes";
}

/** The name of the cookie that keeps the link for the first operator while they sign in. */
export function firstOperatorCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.first-operator" : "homeport.first-operator";
}

/** The name of the cookie that carries a new secret to the operator's page that shows it. */
export function shownSecretCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.shown-secret" : "homeport.shown-secret";
}

/** The name of the device cookie, by which an account recognizes a browser. */
export function deviceCookieName(config: CookieConfig): string {
  return isSecure(config) ? "__Host-homeport.device" : "homeport.device";
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
  return parseCookies(header)[sessionCookieName(config)] ?? null;
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
export async function readEncryptedCookie(
  config: Context["config"],
  cookieHeader: string | null,
  name: string,
): Promise<JWTPayload | null> {
  const value = parseCookies(cookieHeader)[name];
  return value ? decryptToken(config.secrets, value, name) : null;
}
