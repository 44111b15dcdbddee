import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config";

/** One notification for one device, as APNs takes it. */
type Notification = {
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

/** What came of it: APNs's status and, unless 200, its reason. */
type PushResult = { status: number; reason: string | null };

export type PushTransport = {
  mode: "development";
  send: (notification: Notification) => Promise<PushResult>;
};

/** The transport the configuration asks for; null where push is not configured. */
export function createPushTransport(config: Config, log: Logger): PushTransport | null {
  return config.mode === "embedded" ? developmentTransport(path.join(config.DATA_DIR, "outbox"), log) : null;
}

/** Writes each notification to a file and a log line, so that the whole flow can be tried on a laptop. */
function developmentTransport(folder: string, log: Logger): PushTransport {
  return {
    mode: "development",
    send: async (notification) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = path.join(folder, `${Date.now()}-${notification.id}.push.json`);
      await writeFile(file, `${JSON.stringify(notification, null, 2)}\n`, { mode: 0o600 });
      log.info({ file, id: notification.id }, "notification written to a file");
      return { status: 200, reason: null };
    },
  };
}
