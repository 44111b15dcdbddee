import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { once } from "node:events";
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

/** A push that APNs would have taken. `headers` are the request's own. */
export type Push = { id: string; token: string; payload: Record<string, unknown>; headers: IncomingHttpHeaders };

/**
 * What to answer: 200, a refusal in APNs's words, nothing at all, or the end of the connection: at once, or with GOAWAY
 * after a 200 (RFC 9113, section 6.8).
 */
export type Reply =
  | { status: number; reason?: string; timestamp?: number; retryAfter?: string }
  | "silence"
  | "hang up"
  | "goaway";

type Options = {
  /** Whose provider tokens are taken: the public half of the signing key, in PEM. */
  publicKey: string;
  keyId: string;
  teamId: string;
  bundleIds: readonly string[];
  /** In PEM. */
  tls: { key: string; cert: string };
  host?: string;
  port?: number;
  reply: (push: Push) => Reply | Promise<Reply>;
  /** Hears of what a client did wrong. */
  onRefused?: (reason: string) => void;
};

export type FakeApns = {
  port: number;
  /** The connections that are open now. */
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
 * A server that takes pushes as APNs does: HTTP/2 over TLS, and everything checked that Apple's "Sending notification
 * requests to APNs" and "Establishing a token-based connection to APNs" ask for.
 */
export async function startFakeApns(options: Options): Promise<FakeApns> {
  const { tls, host = "127.0.0.1", port = 0, reply, onRefused } = options;
  const sessions = new Set<ServerHttp2Session>();
  const isTrusted = createTokenVerifier(options);
  const server = createSecureServer({ ...tls, settings: { maxConcurrentStreams: MAX_STREAMS } });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => {}); // the client went away
    const body = await readBody(stream);
    const refused = isTrusted(headers) ?? validationError(headers, body, options);
    if (refused) onRefused?.(refused.reason);
    respond(stream, headers, refused ?? (await reply(toPush(headers, body))));
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

type Refusal = { status: number; reason: string };
const refuse = (status: number, reason: string): Refusal => ({ status, reason });

/** Verifies each provider token once (RFC 7515, ES256 as in RFC 7518, section 3.4), its age every time. */
function createTokenVerifier({ publicKey, keyId, teamId }: Options) {
  const key = createPublicKey(publicKey);
  const known = new Map<string, number | null>();
  return ({ authorization = "" }: IncomingHttpHeaders): Refusal | null => {
    const [, token] = /^bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return refuse(403, "MissingProviderToken");
    const issuedAt = known.has(token) ? known.get(token) : issuedAtOf(token, key, keyId, teamId);
    known.set(token, issuedAt ?? null);
    if (typeof issuedAt !== "number") return refuse(403, "InvalidProviderToken");
    const ageSeconds = Date.now() / 1000 - issuedAt;
    if (ageSeconds < -SKEW_SECONDS) return refuse(403, "InvalidProviderToken");
    return ageSeconds > TOKEN_LIFETIME_SECONDS ? refuse(403, "ExpiredProviderToken") : null;
  };
}

/** When a token was issued, in seconds since 1970; null where it is none of ours. */
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

/** What APNs would object to in a request; null where there is nothing. */
function validationError(headers: IncomingHttpHeaders, body: Buffer, { bundleIds }: Options): Refusal | null {
  const one = (name: string) => (typeof headers[name] === "string" ? headers[name] : "");
  const [, token] = /^\/3\/device\/([^/]*)$/.exec(one(":path")) ?? [];
  const isBackground = one("apns-push-type") === "background";
  const aps = parse(body)?.aps;
  if (headers[":method"] !== "POST") return refuse(405, "MethodNotAllowed");
  if (token === undefined) return refuse(404, "BadPath");
  if (!/^([0-9a-f]{2}){32,256}$/.test(token)) return refuse(400, "BadDeviceToken");
  if (!UUID.test(one("apns-id"))) return refuse(400, "BadMessageId");
  if (one("apns-topic") === "") return refuse(400, "MissingTopic");
  if (!bundleIds.includes(one("apns-topic"))) return refuse(400, "DeviceTokenNotForTopic");
  if (!["alert", "background"].includes(one("apns-push-type"))) return refuse(400, "InvalidPushType");
  if (!(isBackground ? ["5"] : ["5", "10"]).includes(one("apns-priority"))) return refuse(400, "BadPriority");
  if (!/^\d+$/.test(one("apns-expiration"))) return refuse(400, "BadExpirationDate");
  if (Buffer.byteLength(one("apns-collapse-id")) > MAX_COLLAPSE_ID_BYTES) return refuse(400, "BadCollapseId");
  if (body.length > MAX_PAYLOAD_BYTES) return refuse(413, "PayloadTooLarge");
  if (typeof aps !== "object" || aps === null) return refuse(400, "PayloadEmpty");
  return "alert" in aps === isBackground ? refuse(400, "InvalidPushType") : null;
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
  const isTaken = status === 200;
  const later = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  stream.respond({ ":status": status, "apns-id": headers["apns-id"], ...later }, { endStream: isTaken });
  if (!isTaken) stream.end(JSON.stringify({ reason, timestamp }));
}

function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => stream.on("end", () => resolve(Buffer.concat(chunks))));
}
