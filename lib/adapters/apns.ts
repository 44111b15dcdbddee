import type { ClientHttp2Session } from "node:http2";
import { Notification as Note, Provider, type ResponseFailure } from "@parse/node-apn";
import type { Logger } from "pino";
import type { ApnsResponse, Notification, PushTransport } from "./push-transport";

/** Token-based trust, and where APNs is: Apple's hosts unless `host` says otherwise. `key` and `ca` are PEM. */
type Options = {
  key: string;
  keyId: string;
  teamId: string;
  host?: string;
  port?: number;
  ca?: string;
  timeoutMs?: number;
  /** Milliseconds on a clock that is never set. */
  elapsedMs?: () => number;
};

const TIMEOUT_MS = 10_000;
/** node-apn never settles a request whose connection went down without a word. */
const GRACE_MS = 1_000;
const MAX_TIMEOUTS = 3;
const MIN_RECONNECT_INTERVAL_MS = 60_000;

/** Sends through Apple's push service, over one connection an environment. */
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
 * One provider, made when it is first needed. Its own retries are off: they do not wait for as long as APNs asks.
 * A connection can die without a word, and node-apn would go on using it: after three time-outs in a row it is
 * dropped, at most once a minute.
 */
function openConnection(environment: Notification["environment"], options: Options, log: Logger): Connection {
  const { timeoutMs = TIMEOUT_MS, elapsedMs = () => performance.now() } = options;
  let provider: Provider | undefined;
  let silent = 0;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  let isReached = true;

  const ask = async (notification: Notification): Promise<ApnsResponse> => {
    provider ??= createProvider(environment, options, timeoutMs);
    const sending = provider.send(toNote(notification), notification.token);
    const { failed } = await withDeadline(sending, timeoutMs + GRACE_MS);
    return failed[0] ? toAnswer(failed[0]) : { status: 200, reason: null };
  };
  const hear = () => {
    silent = 0;
    if (!isReached) log.info({ environment }, "APNs answers again");
    isReached = true;
  };
  const miss = (error: Error) => {
    if (isReached) log.warn({ err: error, environment }, "APNs gives no answer");
    isReached = false;
    if (error.name !== "TimeoutError") return;
    silent += 1;
    if (silent < MAX_TIMEOUTS || elapsedMs() - renewedAtMs < MIN_RECONNECT_INTERVAL_MS) return;
    renewedAtMs = elapsedMs();
    silent = 0;
    log.warn({ environment }, "the connection to APNs is dead: another one is opened");
    if (provider) dropSession(provider);
  };
  return {
    send: async (notification) => {
      try {
        const answer = await ask(notification);
        hear();
        // node-apn has made a new provider token by then.
        return isTokenExpired(answer) ? await ask(notification) : answer;
      } catch (error) {
        miss(error as Error);
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
  // After GOAWAY, its own would cut off at once what APNs still answers; a closed session ends with its last stream.
  client.closeAndDestroySession = async (session) => session?.close();
  const request = client.request.bind(client);
  client.request = (session, ...rest) => withRetryAfter(session, (heard) => request(heard, ...rest));
  return provider;
}

/** The parts of node-apn's client that its types keep to themselves. `request` uses this much of a session. */
type Client = {
  session?: ClientHttp2Session;
  closeAndDestroySession: (session?: ClientHttp2Session) => Promise<void>;
  request: (session: Pick<ClientHttp2Session, "request">, ...rest: unknown[]) => Promise<unknown>;
};

/** What node-apn rejects with, and the header that it looks for by a name which no header has over HTTP/2. */
type Failure = ResponseFailure & { retryAfterText?: string };

/** Makes a request, and adds APNs's Retry-After to what it rejects with. */
async function withRetryAfter(
  session: Pick<ClientHttp2Session, "request">,
  run: (session: Pick<ClientHttp2Session, "request">) => Promise<unknown>,
): Promise<unknown> {
  let retryAfterText: string | undefined;
  const request: ClientHttp2Session["request"] = (...given) => {
    const stream = session.request(...given);
    stream.once("response", (headers) => {
      retryAfterText = headers["retry-after"];
    });
    return stream;
  };
  try {
    return await run({ request });
  } catch (failure) {
    throw Object.assign(failure as Failure, { retryAfterText });
  }
}

function clientOf(provider: Provider): Client {
  return (provider as unknown as { client: Client }).client;
}

/** The headers of Apple's "Sending notification requests to APNs". */
function toNote({ id, bundleId, pushType, priority, collapseId, expiresAt, payload }: Notification): Note {
  const note = new Note();
  note.id = id;
  note.topic = bundleId;
  note.pushType = pushType;
  note.priority = priority;
  note.expiry = Math.floor(expiresAt.getTime() / 1000);
  if (collapseId !== null) note.collapseId = collapseId;
  note.rawPayload = payload;
  return note;
}

/** APNs's answer in what node-apn makes of it. @throws Error where it says that there was none */
function toAnswer({ status, response, error, retryAfterText }: Failure): ApnsResponse {
  const retryAfterSeconds = toSeconds(retryAfterText);
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status !== undefined && response) {
    const { reason, timestamp } = response as { reason?: unknown; timestamp?: unknown };
    const isWord = typeof reason === "string" && /^\w{1,64}$/.test(reason);
    const isTime = typeof timestamp === "number" && Number.isSafeInteger(timestamp); // milliseconds since 1970
    return {
      status,
      reason: isWord ? reason : null,
      ...(isTime ? { timestamp: new Date(timestamp) } : {}),
      ...later,
    };
  }
  if (status === 500) return { status, reason: "InternalServerError", ...later }; // it keeps the reason to itself
  if (status !== undefined && error) return { status, reason: error.message };
  throw error?.message === "apn write timeout" ? timeout() : (error ?? new Error("no answer"));
}

/** Retry-After as seconds from now: a number of them, or an HTTP date. undefined: there is none that can be read. */
function toSeconds(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$|GMT$/.test(text)) return undefined; // Date.parse takes "-5" for a day in May
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) : undefined;
}

function isTokenExpired({ status, reason }: ApnsResponse): boolean {
  return status === 403 && reason === "ExpiredProviderToken";
}

function withDeadline<T>(promise: Promise<T>, mostMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeout()), mostMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function timeout(): Error {
  return Object.assign(new Error("APNs did not answer in time"), { name: "TimeoutError" });
}

/**
 * Not by a provider of its own: that would make a new provider token, of which APNs takes one in 20 minutes. What is
 * under way on the connection fails with the error.
 */
function dropSession(provider: Provider): void {
  clientOf(provider).session?.destroy(new Error("the connection was dropped"));
}
