import { randomUUID } from "node:crypto";
import type { SendMailOptions } from "nodemailer";
import type { Logger } from "pino";
import type { Email } from "../mail/emails";
import { writePrivate } from "./file-transports";

/** Sends email: through SMTP, to files in development, or not at all. `id` becomes the Message-ID. */
export type Mailer = {
  mode: "smtp" | "files" | "off";
  send: (email: Email, id: string) => Promise<void>;
  close: () => Promise<void>;
};

const TIMEOUT_MS = 10_000;
const TIMEOUT_OPTIONS = ["dnsTimeout", "connectionTimeout", "greetingTimeout", "socketTimeout"];

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Sends through the SMTP server at `url`. `timeoutMs` limits each step, unless the URL sets the step's own limit. */
export function createSmtpMailer(url: string, from: string, timeoutMs = TIMEOUT_MS): Mailer {
  const withTimeouts = new URL(url); // nodemailer reads its options from the query
  for (const name of TIMEOUT_OPTIONS) {
    if (!withTimeouts.searchParams.has(name)) withTimeouts.searchParams.set(name, String(timeoutMs));
  }
  // nodemailer would send in clear if the server, or somebody on the way, offers no TLS. Emails contain links that sign in.
  const isOnNetwork = withTimeouts.protocol === "smtp:" && !LOOPBACK.test(withTimeouts.hostname);
  if (isOnNetwork && !withTimeouts.searchParams.has("requireTLS")) withTimeouts.searchParams.set("requireTLS", "true");
  // Loaded with the first email.
  const connect = async () => (await import("nodemailer")).createTransport(withTimeouts.href);
  let transport: ReturnType<typeof connect> | undefined;
  return {
    mode: "smtp",
    send: async (email, id) => {
      transport ??= connect();
      await (await transport).sendMail(toMailMessage(from, email, id));
    },
    close: async () => (await transport)?.close(),
  };
}

/**
 * Writes each email to a file in the Internet Message Format (RFC 5322), for development without a mail server. Its links
 * are not broken into lines, so that they can be copied.
 */
export function createFileMailer(folder: string, from: string, log: Logger): Mailer {
  return {
    mode: "files",
    send: async (email, id) => {
      const { createTransport } = await import("nodemailer"); // loaded with the first email
      const transport = createTransport({ streamTransport: true, buffer: true });
      const { message } = await transport.sendMail(toMailMessage(from, email, id));
      const file = await writePrivate(folder, `${randomUUID()}.eml`, decodeQuotedPrintable(String(message)));
      log.info({ file, subject: email.subject }, "email written to a file");
    },
    close: async () => {},
  };
}

/**
 * An email as nodemailer sends it: multipart/alternative, with the plain text first (RFC 2046, section 5.1.4). It is marked
 * as sent by a program, so that no out-of-office program replies (RFC 3834, section 5).
 */
function toMailMessage(from: string, { to, locale, subject, text, html }: Email, id: string): SendMailOptions {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? "localhost";
  const headers = { "Auto-Submitted": "auto-generated", "Content-Language": locale };
  return { from, to, subject, text, html, messageId: `<${id}@${domain}>`, headers };
}

/** A part's encoding, which nodemailer writes last in the header, and the body that follows. */
const ENCODED = /(?<=^Content-Transfer-Encoding: )quoted-printable(\r\n\r\n)([\s\S]*)/im;

/**
 * A message whose parts in quoted-printable (RFC 2045, section 6.7) are turned into 8bit. Their text is UTF-8. Parts end at
 * the message's own boundary (RFC 2046, section 5.1.1): a soft line break in a link can also be followed by two hyphens.
 */
export function decodeQuotedPrintable(message: string): string {
  const [, boundary] = /boundary="([^"]+)"/.exec(message) ?? [];
  if (!boundary) return decodePart(message);
  const delimiter = `\r\n--${boundary}`;
  return message.split(delimiter).map(decodePart).join(delimiter);
}

function decodePart(part: string): string {
  return part.replace(ENCODED, (_, blankLine: string, encoded: string) => {
    const bytes = encoded
      .replace(/=\r\n/g, "")
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return `8bit${blankLine}${Buffer.from(bytes, "latin1")}`;
  });
}
