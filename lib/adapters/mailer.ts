import { randomUUID } from "node:crypto";
import path from "node:path";
import { createTransport } from "nodemailer";
import type { Logger } from "pino";
import type { Config } from "../config";
import { makeFolder, writeDurably } from "../files/durable";

type Email = { to: string; subject: string; text: string };

/** Sends mail. `mode` says where it goes: SMTP, files (embedded mode), or nowhere. */
export type Mailer = {
  mode: "smtp" | "files" | "off";
  send: (mail: Email) => Promise<void>;
  /** Waits for what is on its way. */
  close: () => Promise<void>;
};

const SMTP_TIMEOUT_MS = 10_000;

/**
 * The mailer the configuration asks for: `SMTP_URL`, else `.eml` files in `DATA_DIR/outbox`, else none. `timeoutMs`
 * is how long each step of SMTP may take.
 */
export function createMailer(config: Config, log: Logger, timeoutMs = SMTP_TIMEOUT_MS): Mailer {
  if (config.SMTP_URL) return tracked(smtpMailer(config.SMTP_URL, config.MAIL_FROM, timeoutMs));
  const outbox = path.join(config.DATA_DIR, "outbox");
  if (config.mode === "embedded") return tracked(fileMailer(outbox, config.MAIL_FROM, log));
  return {
    mode: "off",
    send: async ({ subject }) => log.warn({ subject }, "mail not sent: SMTP_URL is not set"),
    close: async () => {},
  };
}

/** Mail is sent after the answer that promised it: the end of the process has to wait for it. */
function tracked(mailer: Mailer): Mailer {
  const pending = new Set<Promise<void>>();
  return {
    mode: mailer.mode,
    send: (mail) => {
      const sending = mailer.send(mail).finally(() => pending.delete(sending));
      pending.add(sending);
      return sending;
    },
    close: async () => {
      await Promise.allSettled(pending);
      await mailer.close();
    },
  };
}

/** Its time-outs stand in the URL, where nodemailer looks for options; the ones that are there already count. */
function smtpMailer(url: string, from: string, timeoutMs: number): Mailer {
  const withTimeouts = new URL(url);
  for (const name of ["dnsTimeout", "connectionTimeout", "greetingTimeout", "socketTimeout"]) {
    if (!withTimeouts.searchParams.has(name)) withTimeouts.searchParams.set(name, String(timeoutMs));
  }
  const transport = createTransport(withTimeouts.href);
  return {
    mode: "smtp",
    send: async (mail) => void (await transport.sendMail({ from, ...mail })),
    close: async () => transport.close(),
  };
}

/** Writes each mail as an RFC 5322 file that a mail program opens. */
function fileMailer(folder: string, from: string, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    mode: "files",
    send: async (mail) => {
      const { message } = await transport.sendMail({ from, ...mail });
      await makeFolder(folder, 0o700);
      const file = path.join(folder, `${Date.now()}-${randomUUID()}.eml`);
      await writeDurably(file, message as Buffer, { mode: 0o600 });
      log.info({ file, subject: mail.subject }, "mail written to a file");
    },
    close: async () => transport.close(),
  };
}
