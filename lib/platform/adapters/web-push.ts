import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { isInNetworks } from "../config/networks";
import { readJson } from "../json";
import { type AllowedNetworks, findUrlFault, hostOf, type PostResult, postMessage, trustAlso } from "../outbound";
import type { PushResponse, WebPushMessage, WebPushTransport } from "./push-transport";

type Options = {
  /** The keys of RFC 8292, in base64url. */
  loadKeys: () => Promise<{ publicKey: string; privateKey: string }>;
  /** An https or mailto URL, by which a push service reaches the operator. */
  subject: string;
  /** The hosts of push services. "*.example.com" stands for every host below it, "*" for every host. */
  hosts: readonly string[];
  /** The networks of push services besides those with public addresses. */
  allowed: AllowedNetworks;
  /** The certificate authority of a push service of one's own, in PEM, besides those that Node trusts. */
  ca?: string | undefined;
  extraCaFile?: string | undefined;
};

/** Loaded with the first message: most services have no browsers. */
const webPush = async () => (await import("web-push")).default;

const ENCODING = "aes128gcm";
/** RFC 8292, section 2: at most 24 hours. */
const TOKEN_LIFETIME_SECONDS = 12 * 60 * 60;
const MIN_TOKEN_LIFETIME_SECONDS = 60 * 60;

/** Sends messages as RFC 8030 and RFC 8291 describe, authenticated by RFC 8292. */
export function createWebPushTransport(options: Options): WebPushTransport {
  const { loadKeys, hosts, allowed, ca, extraCaFile } = options;
  const authorize = createAuthorization(options);
  const secureContext = ca === undefined ? undefined : trustAlso(ca, extraCaFile);
  const validateEndpoint = (endpoint: URL): string | null => {
    const { protocol, hostname, username, password } = endpoint;
    if (protocol !== "https:") return "Must be an https URL";
    if (username !== "" || password !== "") return "Must have no user name and no password";
    if (isInNetworks(hostOf(hostname), allowed)) return null;
    if (!isListed(hostname, hosts)) return "Must be the endpoint of a known push service";
    return findUrlFault(endpoint, allowed);
  };
  return {
    publicKey: async () => (await loadKeys()).publicKey,
    validateEndpoint,
    send: async (message) => {
      const { endpoint, keys, payload } = message;
      // The settings may have changed since it was registered. They may be wrong: the subscription stays.
      if (validateEndpoint(new URL(endpoint)) !== null) return { status: null, reason: "EndpointNotAllowed" };
      const authorization = await authorize(new URL(endpoint).origin);
      const { cipherText: body } = (await webPush()).encrypt(keys.p256dh, keys.auth, payload, ENCODING);
      const post = { url: endpoint, headers: headersOf(message, authorization), body, secureContext };
      const attempt = await postMessage(post, allowed);
      if (attempt.status !== null) return toResponse(attempt.status, attempt);
      const error = new Error(attempt.error ?? "no response");
      throw Object.assign(error, attempt.durationMs >= 10_000 ? { name: "TimeoutError" } : {});
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

function toResponse(status: number, { body, retryAfterSeconds }: PostResult): PushResponse {
  const isSuccess = status >= 200 && status < 300;
  return {
    status,
    reason: isSuccess ? null : reasonOf(status, body ?? ""),
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
  };
}

/** Apple's reasons, as APNs's, are one word; Mozilla's and Google's are sentences of up to 170 characters. */
const MAX_REASON_LENGTH = 200;

/**
 * RFC 8030 defines no reason. Apple responds with `{"reason":"BadJwtToken"}`, Mozilla with `{"errno":109,"error":…,"message":…}`,
 * and Google with a line of text or a page whose title is the reason. Without any, the status's phrase is one. Operators read
 * it: a control character could change what surrounds it in a terminal or a page.
 */
function reasonOf(status: number, body: string): string {
  const given = readReason(body)
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
  const reason = [...given].slice(0, MAX_REASON_LENGTH).join("").trim();
  return reason || (STATUS_CODES[status] ?? "Unknown").replaceAll(/\W/g, "");
}

const Reason = z.object({ reason: z.string() }).transform(({ reason }) => reason);
/** https://mozilla-services.github.io/autopush-rs/errors.html */
const MozillaError = z
  .object({ errno: z.int(), error: z.string(), message: z.string().optional() })
  .transform(({ errno, error, message }) => `${error} (errno ${errno})${message ? `: ${message}` : ""}`);
/** https://cloud.google.com/apis/design/errors */
const GoogleError = z
  .object({ error: z.object({ message: z.string(), status: z.string() }) })
  .transform(({ error }) => `${error.status}: ${error.message}`);
const AnyReason = z.union([Reason, MozillaError, GoogleError]);

function readReason(body: string): string {
  const reason = readJson(AnyReason, body);
  if (reason !== null) return reason;
  if (!body.trimStart().startsWith("<")) return body;
  return /<title>([^<]*)/i.exec(body)?.[1] ?? "";
}
