import path from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config";
import { makeFolder, writeDurably } from "../files/durable";

/** One notification for one device, as APNs takes it. */
export type Notification = {
  /** The apns-id. */
  id: string;
  token: string;
  environment: "production" | "sandbox";
  bundleId: string;
  pushType: "alert" | "background";
  priority: number;
  collapseId: string | null;
  expiresAt: Date;
  /** The JSON body: `aps` and `data`. */
  payload: unknown;
};

/**
 * APNs's answer: its status and, unless 200, its reason; with 410, since when the token has been dead. `retryAfterSeconds`
 * is what its Retry-After asks for (RFC 9110, section 10.2.3).
 */
export type ApnsResponse = { status: number; reason: string | null; timestamp?: Date; retryAfterSeconds?: number };

export type PushTransport = {
  mode: "apns" | "development";
  /** @throws Error where there was no answer; by the name of TimeoutError where none came in time */
  send: (notification: Notification) => Promise<ApnsResponse>;
  close: () => void;
};

/** The transport the configuration asks for; null where push is not configured. */
export async function createPushTransport(config: Config, log: Logger): Promise<PushTransport | null> {
  const { APNS_KEY: key, APNS_KEY_ID: keyId, APNS_TEAM_ID: teamId } = config;
  if (key && keyId && teamId) {
    const { createApnsTransport } = await import("./apns"); // not loaded where nobody asks for it
    const { APNS_HOST: host, APNS_PORT: port, APNS_CA: ca } = config;
    return createApnsTransport({ key, keyId, teamId, host, port, ca }, log);
  }
  return config.mode === "embedded" ? developmentTransport(path.join(config.DATA_DIR, "outbox"), log) : null;
}

/** Writes each notification to a file and a log line, so that the whole flow can be tried on a laptop. */
function developmentTransport(folder: string, log: Logger): PushTransport {
  return {
    mode: "development",
    send: async (notification) => {
      await makeFolder(folder, 0o700);
      const file = path.join(folder, `${Date.now()}-${notification.id}.push.json`);
      await writeDurably(file, `${JSON.stringify(notification, null, 2)}\n`, { mode: 0o600 });
      log.info({ file, id: notification.id }, "notification written to a file");
      return { status: 200, reason: null };
    },
    close: () => {},
  };
}
