import { once } from "node:events";
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { createTokenVerifier, type ProviderKey } from "./provider-token";
import { parse, type Rejection, reject, validateNotification } from "./validation";

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

type Options = ProviderKey & {
  bundleIds: readonly string[];
  /** In PEM. */
  tls: { key: string; cert: string };
  host?: string;
  port?: number;
  reply: (push: Push) => Reply | Promise<Reply>;
  /** Receives the reason of each request that APNs would have rejected. */
  onRejected?: (reason: string) => void;
};

export type FakeApns = { port: number; sessions: Set<ServerHttp2Session>; close: () => Promise<void> };

const MAX_STREAMS = 1000;

/**
 * Starts a fake APNs server: HTTP/2 over TLS, with the checks of Apple's "Establishing a token-based connection to APNs" and
 * "Sending notification requests to APNs". A request is authenticated first. Of several reasons to reject it, the first in
 * the table of "Handling error responses from Apple Push Notification service" is the response.
 */
export async function startFakeApns(options: Options): Promise<FakeApns> {
  const { tls, host = "127.0.0.1", port = 0, reply, onRejected } = options;
  const sessions = new Set<ServerHttp2Session>();
  const verifyProviderToken = createTokenVerifier(options);
  const validate = (headers: IncomingHttpHeaders, body: Buffer): Rejection | null => {
    const token = tokenOf(headers);
    if (token === null) return reject(404, "BadPath");
    if (headers[":method"] !== "POST") return reject(405, "MethodNotAllowed");
    return validateNotification(headers, token, body, options.bundleIds);
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
    const rejection = (await verifyProviderToken(headers)) ?? validate(headers, body);
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

/** The device token that a path has. */
function tokenOf(headers: IncomingHttpHeaders): string | null {
  return /^\/3\/device\/([^/]*)$/.exec(String(headers[":path"]))?.[1] ?? null;
}

function toPush(headers: IncomingHttpHeaders, body: Buffer): Push {
  return { id: String(headers["apns-id"]), token: tokenOf(headers) ?? "", payload: parse(body) ?? {}, headers };
}

function respond(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, reply: Reply): void {
  if (reply === "hang up") stream.session?.destroy();
  if (reply === "hang up" || reply === "silence" || stream.destroyed) return;
  if (reply === "goaway") stream.session?.goaway();
  const { status, reason, timestamp, retryAfter } = reply === "goaway" ? OK : reply;
  const isAccepted = status === 200;
  const retryHeader = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  const { "apns-id": id } = headers;
  const idHeader = id === undefined ? {} : { "apns-id": id };
  stream.respond({ ":status": status, ...idHeader, ...retryHeader }, { endStream: isAccepted });
  if (!isAccepted) stream.end(JSON.stringify({ reason, timestamp }));
}

function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => stream.on("end", () => resolve(Buffer.concat(chunks))));
}
