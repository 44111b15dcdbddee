import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Provider } from "@parse/node-apn";
import type { Logger } from "pino";
import { z } from "zod";
import { readJson } from "../json";
import { parseRetryAfter } from "../outbound";
import type { Notification, PushResponse, PushTransport } from "./push-transport";

/** Apple rejects provider tokens that are older than an hour. */
const TOKEN_LIFETIME_SECONDS = 55 * 60;

/** Credentials of token-based authentication, and where APNs is: Apple's hosts by default. `key` and `ca` are PEM. */
type ApnsOptions = {
  key: string;
  keyId: string;
  teamId: string;
  host?: string;
  port?: number;
  ca?: string;
  timeoutMs?: number;
  /** Milliseconds on a monotonic clock. */
  elapsedMs?: () => number;
};

function createClient(environment: Notification["environment"], options: ApnsOptions): ApnsClient {
  const { key, keyId, teamId, host, port, ca } = options;
  const provider = new Provider({
    token: { key, keyId, teamId },
    production: environment === "production",
    ...(host === undefined ? {} : { address: host }),
    ...(port === undefined ? {} : { port }),
    ...(ca === undefined ? {} : { ca: [ca] }),
  });
  const { client } = provider as unknown as { client: ApnsClient };
  // After GOAWAY node-apn would destroy the streams that APNs still responds to. close() waits for them.
  client.closeAndDestroySession = async (session) => session?.close();
  return client;
}

/** node-apn's client, which its types do not declare. */
type ApnsClient = {
  config: { address: string; token: ProviderToken };
  session?: ClientHttp2Session;
  isDestroyed: boolean;
  connect: () => Promise<void>;
  closeAndDestroySession: (session?: ClientHttp2Session) => Promise<void>;
  shutdown: () => Promise<void>;
};
type ProviderToken = {
  /** The JSON Web Token. */
  current: string;
  generation: number;
  isExpired: (lifetimeSeconds: number) => boolean;
  /** Creates a new token, unless that generation has been replaced. */
  regenerate: (generation: number) => void;
};

/** Returns the connection. Opens one if there is none; the requests wait until it is open. */
async function openSession(client: ApnsClient): Promise<ClientHttp2Session> {
  if (client.isDestroyed) throw new Error("the transport is closed");
  if (!client.session || client.session.closed || client.session.destroyed) await client.connect();
  if (!client.session) throw new Error("no connection");
  return client.session;
}

/**
 * Sends one request on a connection to APNs, and returns the response, whatever its status.
 * @throws Error if there was no response; a time-out has the name TimeoutError
 */
function sendRequest(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: string, timeoutMs: number) {
  return new Promise<PushResponse>((resolve, reject) => {
    const stream = session.request(headers);
    let hasResponse = false;
    const timer = setTimeout(() => {
      reject(Object.assign(new Error("APNs did not respond in time"), { name: "TimeoutError" }));
      stream.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    stream.once("response", (response) => {
      hasResponse = true;
      const { ":status": status = 0 } = response;
      if (status === 200) {
        resolve({ status, reason: null });
        stream.resume();
      } else readText(stream, (text) => resolve(toResponse(response, text)));
    });
    stream.once("error", reject);
    stream.once("close", () => {
      clearTimeout(timer);
      if (!hasResponse || !stream.readableEnded) reject(new Error("the connection was closed")); // has no effect after a 200
    });
    stream.end(body);
  });
}

function readText(stream: ClientHttp2Stream, done: (text: string) => void): void {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  stream.once("end", () => done(text));
}

/** Why a notification was not sent. `timestamp` is in milliseconds since 1970. */
const Refusal = z.object({
  reason: z
    .string()
    .regex(/^\w{1,64}$/)
    .nullable()
    .catch(null),
  timestamp: z.int().optional().catch(undefined),
});

/** A proxy's error page is not JSON. */
function toResponse(headers: IncomingHttpHeaders & { ":status"?: number }, text: string): PushResponse {
  const { reason = null, timestamp } = readJson(Refusal, text) ?? {};
  const retryAfterSeconds = parseRetryAfter(headers["retry-after"]);
  return {
    status: headers[":status"] ?? 0,
    reason,
    ...(timestamp === undefined ? {} : { timestamp: new Date(timestamp) }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** Whether APNs asks for a new provider token. */
function isProviderTokenExpired({ status, reason }: PushResponse): boolean {
  return status === 403 && reason === "ExpiredProviderToken";
}

const TIMEOUT_MS = 10_000;
const MAX_TIMEOUTS = 3;
const MIN_RECONNECT_INTERVAL_MS = 60_000;

/** Sends through Apple Push Notification service, over one connection for each environment. */
export function createApnsTransport(options: ApnsOptions, log: Logger): PushTransport {
  const open = (environment: Notification["environment"]) => openConnection(environment, options, log);
  const connections = { production: open("production"), sandbox: open("sandbox") };
  return {
    mode: "apns",
    send: (notification) => connections[notification.environment].send(notification),
    close: () => {
      for (const { close } of Object.values(connections)) close();
    },
  };
}

/**
 * Opens a connection when it is first needed. node-apn connects and signs provider tokens; the requests are our own,
 * because node-apn's cost twice as much, retry in milliseconds and drop Retry-After. It keeps using a connection that was
 * lost silently, so that is closed after three consecutive time-outs, at most once a minute.
 */
function openConnection(environment: Notification["environment"], options: ApnsOptions, log: Logger) {
  const { timeoutMs = TIMEOUT_MS, elapsedMs = () => performance.now() } = options;
  let opened: ApnsClient | undefined;
  const client = () => {
    opened ??= createClient(environment, options);
    return opened;
  };
  let timeouts = 0;
  let reconnectedAtMs = Number.NEGATIVE_INFINITY;
  let isReachable = true;

  const request = async (notification: Notification): Promise<PushResponse> => {
    const { token } = client().config;
    const { generation } = token;
    const session = await openSession(client());
    const response = await sendRequest(session, headersOf(notification, client()), notification.body, timeoutMs);
    if (isProviderTokenExpired(response)) token.regenerate(generation);
    return response;
  };
  const recordResponse = () => {
    timeouts = 0;
    if (!isReachable) log.info({ environment }, "APNs is reachable again");
    isReachable = true;
  };
  const recordFailure = (error: Error) => {
    if (isReachable) log.warn({ err: error, environment }, "APNs is unreachable");
    isReachable = false;
    if (error.name !== "TimeoutError") return;
    timeouts += 1;
    if (timeouts < MAX_TIMEOUTS || elapsedMs() - reconnectedAtMs < MIN_RECONNECT_INTERVAL_MS) return;
    reconnectedAtMs = elapsedMs();
    timeouts = 0;
    log.warn({ environment }, "reconnecting to APNs after consecutive time-outs");
    // Its requests fail. A new client would create a new provider token, of which APNs accepts one every 20 minutes.
    opened?.session?.destroy(new Error("the connection was closed after time-outs"));
  };
  return {
    send: async (notification: Notification) => {
      try {
        const response = await request(notification);
        recordResponse();
        return isProviderTokenExpired(response) ? await request(notification) : response;
      } catch (error) {
        recordFailure(error as Error);
        throw error;
      }
    },
    close: () => void opened?.shutdown(),
  };
}

/** Sets the headers of Apple, "Sending notification requests to APNs". */
function headersOf(notification: Notification, client: ApnsClient): OutgoingHttpHeaders {
  const { id, token, bundleId, pushType, priority, collapseId, expiresAt } = notification;
  const { address, token: own } = client.config;
  if (own.isExpired(TOKEN_LIFETIME_SECONDS)) own.regenerate(own.generation);
  return {
    ":method": "POST",
    ":scheme": "https",
    ":authority": address,
    ":path": `/3/device/${token}`,
    authorization: `bearer ${own.current}`,
    "apns-id": id,
    "apns-topic": pushType === "liveactivity" ? `${bundleId}.push-type.liveactivity` : bundleId,
    "apns-push-type": pushType,
    "apns-priority": priority,
    "apns-expiration": Math.floor(expiresAt.getTime() / 1000),
    ...(collapseId === null ? {} : { "apns-collapse-id": collapseId }),
  };
}
