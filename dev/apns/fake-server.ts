import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { once } from "node:events";
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

/** A push that APNs would have accepted, with the headers of its request. */
export type Push = { id: string; token: string; payload: Record<string, unknown>; headers: IncomingHttpHeaders };

/**
 * The reply to a push: a status with APNs's reason, no response at all, a closed connection, or GOAWAY after a 200
 * (RFC 9113, section 6.8).
 */
export type Reply =
  | { status: number; reason?: string; timestamp?: number; retryAfter?: string }
  | "silence"
  | "hang up"
  | "goaway";

type Options = {
  /** The public key that verifies provider tokens, in PEM. */
  publicKey: string;
  keyId: string;
  teamId: string;
  bundleIds: readonly string[];
  /** In PEM. */
  tls: { key: string; cert: string };
  host?: string;
  port?: number;
  reply: (push: Push) => Reply | Promise<Reply>;
  /** Receives the reason of each request that APNs would have rejected. */
  onRejected?: (reason: string) => void;
};

export type FakeApns = {
  port: number;
  /** The open connections. */
  sessions: Set<ServerHttp2Session>;
  close: () => Promise<void>;
};

const MAX_PAYLOAD_BYTES = 4096;
const MAX_COLLAPSE_ID_BYTES = 64;
const TOKEN_LIFETIME_SECONDS = 60 * 60;
const SKEW_SECONDS = 5 * 60;
const MAX_STREAMS = 1000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Starts a fake APNs server: HTTP/2 over TLS, with every check of Apple's "Sending notification requests to APNs" and
 * "Establishing a token-based connection to APNs".
 */
export async function startFakeApns(options: Options): Promise<FakeApns> {
  const { tls, host = "127.0.0.1", port = 0, reply, onRejected } = options;
  const sessions = new Set<ServerHttp2Session>();
  const verifyProviderToken = createTokenVerifier(options);
  const server = createSecureServer({ ...tls, settings: { maxConcurrentStreams: MAX_STREAMS } });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => {}); // the client closed the connection
    const body = await readBody(stream);
    const rejection = verifyProviderToken(headers) ?? validationError(headers, body, options);
    if (rejection) onRejected?.(rejection.reason);
    respond(stream, headers, rejection ?? (await reply(toPush(headers, body))));
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sessions,
    close: async () => {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const OK: Exclude<Reply, string> = { status: 200 };

type Rejection = { status: number; reason: string };
const reject = (status: number, reason: string): Rejection => ({ status, reason });

/** Verifies a provider token's signature once (RFC 7518, section 3.4, ES256), and its age with every request. */
function createTokenVerifier({ publicKey, keyId, teamId }: Options) {
  const key = createPublicKey(publicKey);
  const known = new Map<string, number | null>();
  return ({ authorization = "" }: IncomingHttpHeaders): Rejection | null => {
    const [, token] = /^bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return reject(403, "MissingProviderToken");
    const issuedAt = known.has(token) ? known.get(token) : issuedAtOf(token, key, keyId, teamId);
    known.set(token, issuedAt ?? null);
    if (typeof issuedAt !== "number") return reject(403, "InvalidProviderToken");
    const ageSeconds = Date.now() / 1000 - issuedAt;
    if (ageSeconds < -SKEW_SECONDS) return reject(403, "InvalidProviderToken");
    return ageSeconds > TOKEN_LIFETIME_SECONDS ? reject(403, "ExpiredProviderToken") : null;
  };
}

/** Returns when a token was issued, in seconds since 1970; null if the token is not valid for this key and team. */
function issuedAtOf(token: string, key: KeyObject, keyId: string, teamId: string): number | null {
  try {
    const [head = "", claims = "", signature = "", ...rest] = token.split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    const { alg, kid } = read(head);
    const { iss, iat } = read(claims);
    const signed = { key, dsaEncoding: "ieee-p1363" as const };
    const isOurs = alg === "ES256" && kid === keyId && iss === teamId && rest.length === 0;
    const isSigned = verify("sha256", Buffer.from(`${head}.${claims}`), signed, Buffer.from(signature, "base64url"));
    return isOurs && isSigned && Number.isInteger(iat) ? iat : null;
  } catch {
    return null;
  }
}

/** Returns why APNs would reject a request, or null. */
function validationError(headers: IncomingHttpHeaders, body: Buffer, { bundleIds }: Options): Rejection | null {
  const one = (name: string) => (typeof headers[name] === "string" ? headers[name] : "");
  const [, token] = /^\/3\/device\/([^/]*)$/.exec(one(":path")) ?? [];
  const isBackground = one("apns-push-type") === "background";
  const aps = parse(body)?.aps;
  if (headers[":method"] !== "POST") return reject(405, "MethodNotAllowed");
  if (token === undefined) return reject(404, "BadPath");
  if (!/^([0-9a-f]{2}){32,256}$/.test(token)) return reject(400, "BadDeviceToken");
  if (!UUID.test(one("apns-id"))) return reject(400, "BadMessageId");
  if (one("apns-topic") === "") return reject(400, "MissingTopic");
  if (!bundleIds.includes(one("apns-topic"))) return reject(400, "DeviceTokenNotForTopic");
  if (!["alert", "background"].includes(one("apns-push-type"))) return reject(400, "InvalidPushType");
  if (!(isBackground ? ["5"] : ["5", "10"]).includes(one("apns-priority"))) return reject(400, "BadPriority");
  if (!/^\d+$/.test(one("apns-expiration"))) return reject(400, "BadExpirationDate");
  if (Buffer.byteLength(one("apns-collapse-id")) > MAX_COLLAPSE_ID_BYTES) return reject(400, "BadCollapseId");
  if (body.length > MAX_PAYLOAD_BYTES) return reject(413, "PayloadTooLarge");
  if (typeof aps !== "object" || aps === null) return reject(400, "PayloadEmpty");
  return "alert" in aps === isBackground ? reject(400, "InvalidPushType") : null;
}

function parse(body: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

function toPush(headers: IncomingHttpHeaders, body: Buffer): Push {
  const token = String(headers[":path"]).slice("/3/device/".length);
  return { id: String(headers["apns-id"]), token, payload: parse(body) ?? {}, headers };
}

function respond(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, reply: Reply): void {
  if (reply === "hang up") stream.session?.destroy();
  if (reply === "hang up" || reply === "silence" || stream.destroyed) return;
  if (reply === "goaway") stream.session?.goaway();
  const { status, reason, timestamp, retryAfter } = reply === "goaway" ? OK : reply;
  const isAccepted = status === 200;
  const retryHeader = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  stream.respond({ ":status": status, "apns-id": headers["apns-id"], ...retryHeader }, { endStream: isAccepted });
  if (!isAccepted) stream.end(JSON.stringify({ reason, timestamp }));
}

function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => stream.on("end", () => resolve(Buffer.concat(chunks))));
}
