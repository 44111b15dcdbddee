import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { Provider } from "@parse/node-apn";
import type { Logger } from "pino";
import type { ApnsResponse, Notification, PushTransport } from "../push-transport";
import { sendRequest } from "./request";

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
/** Apple rejects provider tokens that are older than an hour. */
const TOKEN_LIFETIME_SECONDS = 55 * 60;
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
 * Opens a connection when it is first needed. node-apn connects and signs provider tokens; the requests are our own,
 * because node-apn's cost twice as much, retry in milliseconds and drop Retry-After. It keeps using a connection that was
 * lost silently, so that is closed after three consecutive time-outs, at most once a minute.
 */
function openConnection(environment: Notification["environment"], options: Options, log: Logger): Connection {
  const { timeoutMs = TIMEOUT_MS, elapsedMs = () => performance.now() } = options;
  let client: Client | undefined;
  let timeouts = 0;
  let reconnectedAtMs = Number.NEGATIVE_INFINITY;
  let isReachable = true;

  const request = async (notification: Notification): Promise<ApnsResponse> => {
    client ??= createClient(environment, options);
    const { token } = client.config;
    const { generation } = token;
    const session = await openSession(client);
    const response = await sendRequest(session, headersOf(notification, client), notification.body, timeoutMs);
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
    if (client) closeSession(client);
  };
  return {
    send: async (notification) => {
      try {
        const response = await request(notification);
        recordResponse();
        return isProviderTokenExpired(response) ? await request(notification) : response;
      } catch (error) {
        recordFailure(error as Error);
        throw error;
      }
    },
    close: () => void client?.shutdown(),
  };
}

function createClient(environment: Notification["environment"], options: Options): Client {
  const { key, keyId, teamId, host, port, ca } = options;
  const provider = new Provider({
    token: { key, keyId, teamId },
    production: environment === "production",
    ...(host === undefined ? {} : { address: host }),
    ...(port === undefined ? {} : { port }),
    ...(ca === undefined ? {} : { ca: [ca] }),
  });
  const { client } = provider as unknown as { client: Client };
  // After GOAWAY node-apn would destroy the streams that APNs still responds to. close() waits for them.
  client.closeAndDestroySession = async (session) => session?.close();
  return client;
}

/** node-apn's client, which its types do not declare. */
type Client = {
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
async function openSession(client: Client): Promise<ClientHttp2Session> {
  if (client.isDestroyed) throw new Error("the transport is closed");
  if (!client.session || client.session.closed || client.session.destroyed) await client.connect();
  if (!client.session) throw new Error("no connection");
  return client.session;
}

/** Renews the provider token before it expires. */
function authorizationOf({ config: { token } }: Client): string {
  if (token.isExpired(TOKEN_LIFETIME_SECONDS)) token.regenerate(token.generation);
  return `bearer ${token.current}`;
}

/** Sets the headers of Apple, "Sending notification requests to APNs". */
function headersOf(notification: Notification, client: Client): OutgoingHttpHeaders {
  const { id, token, bundleId, pushType, priority, collapseId, expiresAt } = notification;
  const headers: OutgoingHttpHeaders = {
    ":method": "POST",
    ":scheme": "https",
    ":authority": client.config.address,
    ":path": `/3/device/${token}`,
    authorization: authorizationOf(client),
    "apns-id": id,
    "apns-topic": bundleId,
    "apns-push-type": pushType,
    "apns-priority": priority,
    "apns-expiration": Math.floor(expiresAt.getTime() / 1000),
  };
  if (collapseId !== null) headers["apns-collapse-id"] = collapseId;
  return headers;
}

function isProviderTokenExpired({ status, reason }: ApnsResponse): boolean {
  return status === 403 && reason === "ExpiredProviderToken";
}

/**
 * Closes the connection; its requests fail. Replacing the whole client would create a new provider token, of which APNs
 * accepts one every 20 minutes.
 */
function closeSession(client: Client): void {
  client.session?.destroy(new Error("the connection was closed after time-outs"));
}
