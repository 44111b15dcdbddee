import path from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config";
import type { Mailer } from "./mail/mailer";
import { createSmtpMailer } from "./mail/smtp";
import { createFileMailer, createFilePushTransport } from "./outbox-folder";
import type { PushTransport } from "./push-transport";

/** Returns the mailer that the configuration selects: SMTP, files in development, or none. */
export function createMailer(config: Config, log: Logger): Mailer {
  if (config.SMTP_URL) return createSmtpMailer(config.SMTP_URL, config.MAIL_FROM);
  if (hasMailOutbox(config)) return createFileMailer(outboxFolder(config), config.MAIL_FROM, log);
  return {
    mode: "off",
    send: async ({ subject }) => log.warn({ subject }, "email not sent: SMTP_URL is not set"),
    close: async () => {},
  };
}

/**
 * Whether emails are written to files, whose links sign in and reset passwords: on a developer's machine, which only this
 * machine's browser reaches, or because `MAIL_OUTBOX` says so.
 */
function hasMailOutbox({ MAIL_OUTBOX, mode, baseUrl }: Config): boolean {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(baseUrl).hostname);
  return MAIL_OUTBOX ?? (mode === "embedded" && isLocal);
}

/** Returns the push transport that the configuration selects: APNs, files in embedded mode, or null. */
export async function createPushTransport(config: Config, log: Logger): Promise<PushTransport | null> {
  const { APNS_KEY: key, APNS_KEY_ID: keyId, APNS_TEAM_ID: teamId } = config;
  if (key && keyId && teamId) {
    const { createApnsTransport } = await import("./apns/transport"); // loaded only if APNs is configured
    const { APNS_HOST: host, APNS_PORT: port, APNS_CA: ca } = config;
    return createApnsTransport({ key, keyId, teamId, host, port, ca }, log);
  }
  return config.mode === "embedded" ? createFilePushTransport(outboxFolder(config), log) : null;
}

function outboxFolder({ DATA_DIR }: Config): string {
  return path.join(DATA_DIR, "outbox");
}
