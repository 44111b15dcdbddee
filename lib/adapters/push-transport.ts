/** A notification for one device, in the terms of Apple, "Sending notification requests to APNs". */
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
  /** The payload as JSON: an object with `aps` and `data`. */
  body: string;
};

/**
 * APNs's response: its status, its reason unless the status is 200, and for 410 the time since which the token has been
 * invalid. `retryAfterSeconds` is its Retry-After (RFC 9110, section 10.2.3).
 */
export type ApnsResponse = { status: number; reason: string | null; timestamp?: Date; retryAfterSeconds?: number };

/** Sends notifications: through APNs, or to files in development. */
export type PushTransport = {
  mode: "apns" | "development";
  /** @throws Error if there was no response; a time-out has the name TimeoutError */
  send: (notification: Notification) => Promise<ApnsResponse>;
  close: () => void;
};
