import { randomBytes } from "node:crypto";
import { z } from "zod";
import { readJson } from "../../json";
import { type CookieConfig, cookieName, parseCookies, setShortCookie } from "../cookies";

const TTL_SECONDS = 60;
/** Browsers drop cookies beyond 4 KiB (RFC 6265bis, 5.7). */
export const MAX_COOKIE_LENGTH = 3_500;

/** The errors of a form and the values to fill in again. Never contains a secret. */
export const Flash = z.object({
  /** Also in the page's URL, so that the flash is shown once. */
  id: z.string(),
  /** The path of the form's route. */
  form: z.string(),
  message: z.string(),
  fields: z.record(z.string(), z.string()),
  /** Those that may have no place in the form: it was sent without any of them. */
  unshown: z.array(z.string()).optional(),
  values: z.record(z.string(), z.string()),
  /**
   * The values are all that the form needs, which was not sent because its author had to sign in again ("ask": they decide
   * whether to send it) or to confirm that it is them ("now").
   */
  resume: z.enum(["ask", "now"]).optional(),
  /** What such a form does. In English, for the console. */
  summary: z.string().optional(),
});
export type Flash = z.infer<typeof Flash>;

/**
 * Carries the errors of a form over the redirect to its page, for browsers without JavaScript. A cookie, because URLs
 * end up in logs and the values contain emails. Returns the flash's ID and the Set-Cookie header.
 */
export function setFlash(config: CookieConfig, flash: Omit<Flash, "id">): { id: string; cookie: string } {
  const id = newFlashId();
  const texts = [encode({ ...flash, id }), encode({ ...flash, id, values: {} })];
  const text = texts.find(({ length }) => length <= MAX_COOKIE_LENGTH) ?? "";
  return { id, cookie: setShortCookie(config, cookieName(config, "form"), text, TTL_SECONDS) };
}

/** Carries an email to the page that a successful form leads to. `page` ends with the query parameter for the ID. */
export function redirectWithEmail(config: CookieConfig, page: string, email: string) {
  const { id, cookie } = setFlash(config, { form: "", message: "", fields: {}, values: { email } });
  return { to: `${page}${id}`, cookies: [cookie] };
}

/** The flash with this ID; null if the cookie has another one or none. */
export function readFlash(config: CookieConfig, cookieHeader: string | null, id: string | undefined): Flash | null {
  const text = parseCookies(cookieHeader)[cookieName(config, "form")];
  if (text === undefined || id === undefined) return null;
  const flash = readJson(Flash, Buffer.from(text, "base64url").toString());
  return flash?.id === id ? flash : null;
}

export function newFlashId(): string {
  return randomBytes(8).toString("base64url");
}

function encode(flash: Flash): string {
  return Buffer.from(JSON.stringify(flash)).toString("base64url");
}
