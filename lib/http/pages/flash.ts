import { randomBytes } from "node:crypto";
import { z } from "zod";
import { formCookieName, parseCookies } from "../../auth/cookie";
import type { Config } from "../../config";

const TTL_SECONDS = 60;
/** Browsers drop cookies beyond 4 KiB (RFC 6265bis, 5.7). */
const MOST_CHARACTERS = 3_500;

/** What a refused form says when its page is shown again, with what was typed. Never holds a secret. */
const Flash = z.object({
  /** The page's address has it too, so that nobody sees it twice. */
  id: z.string(),
  /** The path that the form was sent to. */
  form: z.string(),
  message: z.string(),
  /** What is wrong with each field. */
  fields: z.record(z.string(), z.string()),
  values: z.record(z.string(), z.string()),
});
export type Flash = z.infer<typeof Flash>;

/**
 * The words for a page that is shown again after a form was refused without JavaScript: a cookie for this one
 * redirect, since an address would keep an e-mail address in logs. Returns its id and the Set-Cookie header.
 */
export function setFlash(config: Pick<Config, "baseUrl">, said: Omit<Flash, "id">): { id: string; cookie: string } {
  const id = randomBytes(8).toString("base64url");
  const text = [encode({ ...said, id }), encode({ ...said, id, values: {} })].find(fits) ?? "";
  const secure = config.baseUrl.startsWith("https:") ? "; Secure" : "";
  const attributes = `Path=/; Max-Age=${TTL_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
  return { id, cookie: `${formCookieName(config)}=${text}; ${attributes}` };
}

/** The flash that belongs to a page's address; null for none, and for what is none of ours. */
export function readFlash(
  config: Pick<Config, "baseUrl">,
  cookieHeader: string | null,
  id: string | undefined,
): Flash | null {
  const text = parseCookies(cookieHeader)[formCookieName(config)];
  if (text === undefined || id === undefined) return null;
  try {
    const flash = Flash.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
    return flash.id === id ? flash : null;
  } catch {
    return null;
  }
}

function encode(flash: Flash): string {
  return Buffer.from(JSON.stringify(flash)).toString("base64url");
}

function fits(text: string): boolean {
  return text.length <= MOST_CHARACTERS;
}
