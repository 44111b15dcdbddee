import { once } from "node:events";
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { createChannels } from "./channels";
import { createTokenVerifier, type ProviderKey } from "./provider-token";
import { type Rejection, reject } from "./rejection";
import { parse, validateBroadcast, validateNotification } from "./validation";

/** A push that APNs would have accepted, with the headers of its request: to a device token, or to a broadcast channel. */
export type Push = {
  /** The apns-id, or the apns-request-id of a broadcast. */
  id: string;
  /** Empty: a broadcast. */
  token: string;
  payload: Record<string, unknown>;
  headers: IncomingHttpHeaders;
};

/**
 * The reply to a push: a status with APNs's reason, no response at all, a closed connection, or GOAWAY after a 200
 * (RFC 9113, section 6.8).
 */
export type Reply =
  | { status: number; reason?: string; timestamp?: number; retryAfter?: string }
  | "silence"
  | "hang up"
  | "goaway";

type Options = ProviderKey & {
  bundleIds: readonly string[];
  /** In PEM. */
  tls: { key: string; cert: string };
  host?: string;
  port?: number;
  /** How many broadcast channels an app may have: 10,000 by default. */
  maxChannels?: number;
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

const MAX_STREAMS = 1000;

/**
 * Starts a fake APNs server: HTTP/2 over TLS, with the checks of Apple's "Establishing a token-based connection to APNs",
 * "Sending notification requests to APNs", "Sending broadcast push notification requests to APNs" and "Sending channel
 * management requests to APNs", all on one port. A request is authenticated first. Of several reasons to reject it, the
 * first in the table of "Handling error responses from Apple Push Notification service" is the response.
 */
export async function startFakeApns(options: Options): Promise<FakeApns> {
  const { tls, host = "127.0.0.1", port = 0, reply, onRejected } = options;
  const sessions = new Set<ServerHttp2Session>();
  const verifyProviderToken = createTokenVerifier(options);
  const channels = createChannels(options.maxChannels);
  const validate = (headers: IncomingHttpHeaders, body: Buffer): Rejection | null => {
    const { token, bundleId } = readPath(headers);
    if (token === null && bundleId === null) return reject(404, "BadPath");
    if (headers[":method"] !== "POST") return reject(405, "MethodNotAllowed");
    if (token !== null) return validateNotification(headers, token, body, options.bundleIds);
    return validateBroadcast(headers, body, channels.find(headers, bundleId ?? ""));
  };
  const server = createSecureServer({ ...tls, settings: { maxConcurrentStreams: MAX_STREAMS } });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => {}); // the client closed the connection
    const body = await readBody(stream);
    const managed = CHANNELS_PATH.exec(String(headers[":path"]));
    const forbidden = verifyProviderToken(headers);
    if (managed && !forbidden) {
      const [, bundleId = "", name = ""] = managed;
      const channelReply = channels.reply(headers, bundleId, name, body);
      if ("reason" in channelReply) onRejected?.(channelReply.reason);
      const sent = "reason" in channelReply ? { headers: {}, body: { reason: channelReply.reason } } : channelReply;
      const requestId = { "apns-request-id": channels.requestId(headers) };
      stream.respond({ ":status": channelReply.status, ...requestId, ...sent.headers });
      stream.end(sent.body && JSON.stringify(sent.body));
      return;
    }
    const rejection = forbidden ?? validate(headers, body);
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

const CHANNELS_PATH = /^\/1\/apps\/([^/]+)\/(channels|all-channels)$/;

/** The device token, or the app of a broadcast, that a path has. */
function readPath(headers: IncomingHttpHeaders): { token: string | null; bundleId: string | null } {
  const path = String(headers[":path"]);
  const [, token = null] = /^\/3\/device\/([^/]*)$/.exec(path) ?? [];
  const [, bundleId = null] = /^\/4\/broadcasts\/apps\/([^/]+)$/.exec(path) ?? [];
  return { token, bundleId };
}

function toPush(headers: IncomingHttpHeaders, body: Buffer): Push {
  const { token } = readPath(headers);
  const id = String(headers[token === null ? "apns-request-id" : "apns-id"]);
  return { id, token: token ?? "", payload: parse(body) ?? {}, headers };
}

function respond(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, reply: Reply): void {
  if (reply === "hang up") stream.session?.destroy();
  if (reply === "hang up" || reply === "silence" || stream.destroyed) return;
  if (reply === "goaway") stream.session?.goaway();
  const { status, reason, timestamp, retryAfter } = reply === "goaway" ? OK : reply;
  const isAccepted = status === 200;
  const retryHeader = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  stream.respond({ ":status": status, ...idsOf(headers), ...retryHeader }, { endStream: isAccepted });
  if (!isAccepted) stream.end(JSON.stringify({ reason, timestamp }));
}

/** A response has the ids of its request. */
function idsOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const names = ["apns-id", "apns-request-id"].filter((name) => headers[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}

function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => stream.on("end", () => resolve(Buffer.concat(chunks))));
}
