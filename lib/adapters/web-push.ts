import { STATUS_CODES } from "node:http";
import { isInNetworks } from "../config/networks";
import { type AllowedNetworks, findUrlFault } from "../outbound/addresses";
import { postMessage } from "../outbound/post";
import type { PushResponse, WebPushMessage, WebPushTransport } from "./push-transport";

type Options = {
  /** The keys of RFC 8292, in base64url. */
  loadKeys: () => Promise<{ publicKey: string; privateKey: string }>;
  /** An https or mailto URL, by which a push service reaches the operator. */
  subject: string;
  /** The hosts of push services. "*.example.com" stands for every host below it, "*" for every host. */
  hosts: readonly string[];
  allowed: AllowedNetworks;
};

/** Loaded with the first message: most services have no browsers. */
const webPush = async () => (await import("web-push")).default;

const ENCODING = "aes128gcm";
/** RFC 8292, section 2: at most 24 hours. */
const TOKEN_LIFETIME_SECONDS = 12 * 60 * 60;
const MIN_TOKEN_LIFETIME_SECONDS = 60 * 60;

/** Sends messages as RFC 8030 and RFC 8291 describe, authenticated by RFC 8292. */
export function createWebPushTransport(options: Options): WebPushTransport {
  const { loadKeys, hosts, allowed } = options;
  const authorize = createAuthorization(options);
  return {
    publicKey: async () => (await loadKeys()).publicKey,
    validateEndpoint: (endpoint) => {
      if (isLocal(endpoint, allowed)) return null;
      if (!isListed(endpoint.hostname, hosts)) return "Must be the endpoint of a known push service";
      return findUrlFault(endpoint, []);
    },
    send: async (message) => {
      const { endpoint, keys, payload } = message;
      const authorization = await authorize(new URL(endpoint).origin);
      const { cipherText: body } = (await webPush()).encrypt(keys.p256dh, keys.auth, payload, ENCODING);
      const attempt = await postMessage({ url: endpoint, headers: headersOf(message, authorization), body }, allowed);
      if (attempt.status === null) throw noResponse(attempt);
      return toResponse(attempt.status, attempt.retryAfterSeconds);
    },
  };
}

/** Signs one token for each push service, and again before it expires. */
function createAuthorization({ loadKeys, subject }: Options) {
  const tokens = new Map<string, { authorization: string; expiresAt: number }>();
  return async (origin: string): Promise<string> => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const known = tokens.get(origin);
    if (known && known.expiresAt - nowSeconds > MIN_TOKEN_LIFETIME_SECONDS) return known.authorization;
    const { publicKey, privateKey } = await loadKeys();
    const expiresAt = nowSeconds + TOKEN_LIFETIME_SECONDS;
    const { getVapidHeaders } = await webPush();
    const { Authorization } = getVapidHeaders(origin, subject, publicKey, privateKey, ENCODING, expiresAt);
    tokens.set(origin, { authorization: Authorization, expiresAt });
    return Authorization;
  };
}

/** RFC 8030, sections 5.2 to 5.4. */
function headersOf({ ttlSeconds, urgency, topic }: WebPushMessage, authorization: string): Record<string, string> {
  return {
    authorization,
    "content-type": "application/octet-stream",
    "content-encoding": ENCODING,
    ttl: String(ttlSeconds),
    urgency,
    ...(topic === null ? {} : { topic }),
  };
}

function isListed(hostname: string, hosts: readonly string[]): boolean {
  return hosts.some(
    (host) => host === "*" || host === hostname || (host.startsWith("*.") && hostname.endsWith(host.slice(1))),
  );
}

/** The allowed networks may have a push service, too: one for tests, or a company's own. It needs no TLS. */
function isLocal({ hostname }: URL, allowed: AllowedNetworks): boolean {
  return isInNetworks(hostname === "localhost" ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, ""), allowed);
}

/** Web Push has no reasons: the status's own phrase is one, in the form of APNs's. */
function toResponse(status: number, retryAfterSeconds: number | null): PushResponse {
  const reason = status >= 200 && status < 300 ? null : (STATUS_CODES[status] ?? "Unknown").replaceAll(/\W/g, "");
  return { status, reason, ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }) };
}

function noResponse({ error, durationMs }: { error: string | null; durationMs: number }): Error {
  return Object.assign(new Error(error ?? "no response"), durationMs >= 10_000 ? { name: "TimeoutError" } : {});
}
