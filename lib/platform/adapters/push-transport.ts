/** A notification for one device, in the terms of Apple, "Sending notification requests to APNs". */
export type Notification = {
  /** The apns-id. */
  id: string;
  token: string;
  environment: "production" | "sandbox";
  bundleId: string;
  pushType: "alert" | "background" | "liveactivity";
  priority: number;
  collapseId: string | null;
  expiresAt: Date;
  /** The payload as JSON: an object with `aps`, and with `data` unless it is for a Live Activity. */
  body: string;
};

/**
 * A push service's response: its status, its reason if it is not a success, and for APNs's 410 the time since which the
 * token has been invalid. `retryAfterSeconds` is its Retry-After (RFC 9110, section 10.2.3).
 */
export type PushResponse = { status: number; reason: string | null; timestamp?: Date; retryAfterSeconds?: number };

/** Nothing was sent: the settings do not allow the endpoint. */
export type EndpointNotAllowed = { status: null; reason: "EndpointNotAllowed" };

/** Sends notifications: through APNs, or to files in embedded mode. */
export type PushTransport = {
  mode: "apns" | "files";
  /** @throws Error if there was no response; a time-out has the name TimeoutError */
  send: (notification: Notification) => Promise<PushResponse>;
  close: () => void;
};

/** A message for one browser (RFC 8030): an encrypted payload, and how the push service stores it. */
export type WebPushMessage = {
  endpoint: string;
  keys: WebPushKeys;
  /** The payload as JSON. */
  payload: string;
  ttlSeconds: number;
  urgency: "low" | "normal" | "high";
  /** Replaces a stored message with the same topic: at most 32 characters of base64url. */
  topic: string | null;
};

/** The `keys` of a PushSubscription, in base64url. */
export type WebPushKeys = { p256dh: string; auth: string };

/** Sends messages to browsers through their push services. */
export type WebPushTransport = {
  /** The public key for `PushManager.subscribe`, in base64url. */
  publicKey: () => Promise<string>;
  /** Why messages cannot be sent to an endpoint, as far as that is known without resolving its host; or null. */
  validateEndpoint: (endpoint: URL) => string | null;
  /** @throws Error if there was no response; a time-out has the name TimeoutError */
  send: (message: WebPushMessage) => Promise<PushResponse | EndpointNotAllowed>;
};
