import type { ClientHttp2Session } from "node:http2";
import { Notification as ApnNotification, Provider, type ResponseFailure } from "@parse/node-apn";
import type { Logger } from "pino";
import type { ApnsResponse, Notification, PushTransport } from "./push-transport";

/** Credentials of token-based authentication, and where APNs is: Apple's hosts by default. `key` and `ca` are PEM. */
type Options = {
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

const TIMEOUT_MS = 10_000;
/** node-apn does not settle a request whose connection was lost silently. */
const TIMEOUT_GRACE_MS = 1_000;
const MAX_TIMEOUTS = 3;
const MIN_RECONNECT_INTERVAL_MS = 60_000;

/** Sends through Apple Push Notification service, over one connection for each environment. */
export function createApnsTransport(options: Options, log: Logger): PushTransport {
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

type Connection = { send: (notification: Notification) => Promise<ApnsResponse>; close: () => void };

/**
 * Opens a connection when it is first needed. node-apn's retries are off, because they ignore Retry-After. node-apn
 * keeps using a connection that was lost silently, so it is closed after three consecutive time-outs, at most once a
 * minute.
 */
function openConnection(environment: Notification["environment"], options: Options, log: Logger): Connection {
  const { timeoutMs = TIMEOUT_MS, elapsedMs = () => performance.now() } = options;
  let provider: Provider | undefined;
  let timeouts = 0;
  let reconnectedAtMs = Number.NEGATIVE_INFINITY;
  let isReachable = true;

  const request = async (notification: Notification): Promise<ApnsResponse> => {
    provider ??= createProvider(environment, options, timeoutMs);
    const sending = provider.send(toApnNotification(notification), notification.token);
    const { failed } = await withDeadline(sending, timeoutMs + TIMEOUT_GRACE_MS);
    return failed[0] ? toResponse(failed[0]) : { status: 200, reason: null };
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
    if (provider) closeSession(provider);
  };
  return {
    send: async (notification) => {
      try {
        const response = await request(notification);
        recordResponse();
        // node-apn has created a new provider token by then.
        return isProviderTokenExpired(response) ? await request(notification) : response;
      } catch (error) {
        recordFailure(error as Error);
        throw error;
      }
    },
    close: () => provider?.shutdown(),
  };
}

function createProvider(environment: Notification["environment"], options: Options, timeoutMs: number): Provider {
  const { key, keyId, teamId, host, port, ca } = options;
  const provider = new Provider({
    token: { key, keyId, teamId },
    production: environment === "production",
    connectionRetryLimit: 0,
    requestTimeout: timeoutMs,
    ...(host === undefined ? {} : { address: host }),
    ...(port === undefined ? {} : { port }),
    ...(ca === undefined ? {} : { ca: [ca] }),
  });
  const client = clientOf(provider);
  // After GOAWAY node-apn would destroy the streams that APNs still responds to. close() waits for them.
  client.closeAndDestroySession = async (session) => session?.close();
  const request = client.request.bind(client);
  client.request = (session, ...rest) => withRetryAfter(session, (observed) => request(observed, ...rest));
  return provider;
}

/** The parts of node-apn's client that its types do not declare. */
type Client = {
  session?: ClientHttp2Session;
  closeAndDestroySession: (session?: ClientHttp2Session) => Promise<void>;
  request: (session: Pick<ClientHttp2Session, "request">, ...rest: unknown[]) => Promise<unknown>;
};

/** node-apn's failure, with the header that it looks for under a name that HTTP/2 headers never have. */
type Failure = ResponseFailure & { retryAfterHeader?: string };

/** Runs a request and adds APNs's Retry-After to its failure. */
async function withRetryAfter(
  session: Pick<ClientHttp2Session, "request">,
  run: (session: Pick<ClientHttp2Session, "request">) => Promise<unknown>,
): Promise<unknown> {
  let retryAfterHeader: string | undefined;
  const request: ClientHttp2Session["request"] = (...args) => {
    const stream = session.request(...args);
    stream.once("response", (headers) => {
      retryAfterHeader = headers["retry-after"];
    });
    return stream;
  };
  try {
    return await run({ request });
  } catch (failure) {
    throw Object.assign(failure as Failure, { retryAfterHeader });
  }
}

function clientOf(provider: Provider): Client {
  return (provider as unknown as { client: Client }).client;
}

/** Sets the headers of Apple, "Sending notification requests to APNs". */
function toApnNotification(notification: Notification): ApnNotification {
  const { id, bundleId, pushType, priority, collapseId, expiresAt, payload } = notification;
  const result = new ApnNotification();
  result.id = id;
  result.topic = bundleId;
  result.pushType = pushType;
  result.priority = priority;
  result.expiry = Math.floor(expiresAt.getTime() / 1000);
  if (collapseId !== null) result.collapseId = collapseId;
  result.rawPayload = payload;
  return result;
}

/** Returns APNs's response from node-apn's failure. @throws Error if there was no response */
function toResponse({ status, response, error, retryAfterHeader }: Failure): ApnsResponse {
  const retryAfterSeconds = parseRetryAfter(retryAfterHeader);
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status !== undefined && response) {
    const { reason, timestamp } = response as { reason?: unknown; timestamp?: unknown };
    const isReason = typeof reason === "string" && /^\w{1,64}$/.test(reason);
    const isTimestamp = typeof timestamp === "number" && Number.isSafeInteger(timestamp); // milliseconds since 1970
    return {
      status,
      reason: isReason ? reason : null,
      ...(isTimestamp ? { timestamp: new Date(timestamp) } : {}),
      ...retry,
    };
  }
  if (status === 500) return { status, reason: "InternalServerError", ...retry }; // node-apn drops the reason
  if (status !== undefined && error) return { status, reason: error.message };
  throw error?.message === "apn write timeout" ? timeoutError() : (error ?? new Error("no response"));
}

/** Parses Retry-After, seconds or an HTTP date, as seconds from now; undefined if it is absent or invalid. */
function parseRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$|GMT$/.test(text)) return undefined; // Date.parse reads "-5" as a date in May
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) : undefined;
}

function isProviderTokenExpired({ status, reason }: ApnsResponse): boolean {
  return status === 403 && reason === "ExpiredProviderToken";
}

function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeoutError()), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function timeoutError(): Error {
  return Object.assign(new Error("APNs did not respond in time"), { name: "TimeoutError" });
}

/**
 * Closes the connection; its requests fail. Replacing the whole provider would create a new provider token, of which
 * APNs accepts one every 20 minutes.
 */
function closeSession(provider: Provider): void {
  clientOf(provider).session?.destroy(new Error("the connection was closed after time-outs"));
}
