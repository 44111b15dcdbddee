import type { OutgoingHttpHeaders } from "node:http2";
import type { Logger } from "pino";
import type { Notification, PushResponse, PushTransport } from "../push-transport";
import { type ApnsClient, type ApnsOptions, authorizationOf, closeSession, createClient, openSession } from "./client";
import { isProviderTokenExpired, sendRequest } from "./request";

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

type Connection = { send: (notification: Notification) => Promise<PushResponse>; close: () => void };

/**
 * Opens a connection when it is first needed. node-apn connects and signs provider tokens; the requests are our own,
 * because node-apn's cost twice as much, retry in milliseconds and drop Retry-After. It keeps using a connection that was
 * lost silently, so that is closed after three consecutive time-outs, at most once a minute.
 */
function openConnection(environment: Notification["environment"], options: ApnsOptions, log: Logger): Connection {
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
    if (opened) closeSession(opened);
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
    close: () => void opened?.shutdown(),
  };
}

/** Sets the headers of Apple, "Sending notification requests to APNs". */
function headersOf(notification: Notification, client: ApnsClient): OutgoingHttpHeaders {
  const { id, token, bundleId, pushType, priority, collapseId, expiresAt } = notification;
  const headers: OutgoingHttpHeaders = {
    ":method": "POST",
    ":scheme": "https",
    ":authority": client.config.address,
    ":path": `/3/device/${token}`,
    authorization: authorizationOf(client),
    "apns-id": id,
    "apns-topic": pushType === "liveactivity" ? `${bundleId}.push-type.liveactivity` : bundleId,
    "apns-push-type": pushType,
    "apns-priority": priority,
    "apns-expiration": Math.floor(expiresAt.getTime() / 1000),
  };
  if (collapseId !== null) headers["apns-collapse-id"] = collapseId;
  return headers;
}
