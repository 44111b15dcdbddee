import path from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config";
import { vapidSubject } from "../config/web-push";
import { LOOPBACK_NETWORKS } from "../outbound";
import { createFilePushTransport } from "./file-transports";
import { createFileMailer, createSmtpMailer, type Mailer } from "./mailers";
import type { PushTransport, WebPushTransport } from "./push-transport";
import { createWebPushTransport } from "./web-push";

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
    const { createApnsTransport } = await import("./apns"); // loaded only if APNs is configured
    const { APNS_HOST: host, APNS_PORT: port, APNS_CA: ca } = config;
    return createApnsTransport({ key, keyId, teamId, host, port, ca }, log);
  }
  return config.mode === "embedded" ? createFilePushTransport(outboxFolder(config), log) : null;
}

/**
 * Returns the transport to browsers. Any user may name an endpoint, so that what operators allow for their webhooks does not
 * count.
 */
export function createWebPush(
  config: Config,
  loadKeys: () => Promise<{ publicKey: string; privateKey: string }>,
): WebPushTransport {
  const { WEB_PUSH_HOSTS: hosts, WEB_PUSH_ALLOWED_NETWORKS: allowed, WEB_PUSH_CA: ca, extraCaFile } = config;
  return createWebPushTransport({ loadKeys, subject: vapidSubject(config), hosts, allowed, ca, extraCaFile });
}

/** The networks besides the public internet that webhooks may go to. */
export function allowedNetworks({ baseUrl, WEBHOOK_ALLOWED_NETWORKS }: Config): readonly string[] {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(baseUrl).hostname);
  return [...WEBHOOK_ALLOWED_NETWORKS, ...(isLocal ? LOOPBACK_NETWORKS : [])];
}

function outboxFolder({ DATA_DIR }: Config): string {
  return path.join(DATA_DIR, "outbox");
}
