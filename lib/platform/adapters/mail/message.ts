import type { SendMailOptions } from "nodemailer";
import type { Email } from "../../mail/emails";

/**
 * An email as nodemailer sends it: multipart/alternative, with the plain text first (RFC 2046, section 5.1.4). It is marked
 * as sent by a program, so that no out-of-office program replies (RFC 3834, section 5).
 */
export function toMailMessage(from: string, { to, locale, subject, text, html }: Email, id: string): SendMailOptions {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? "localhost";
  const headers = { "Auto-Submitted": "auto-generated", "Content-Language": locale };
  return { from, to, subject, text, html, messageId: `<${id}@${domain}>`, headers };
}
