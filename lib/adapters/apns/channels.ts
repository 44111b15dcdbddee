import { randomUUID } from "node:crypto";
import type { OutgoingHttpHeaders } from "node:http2";
import type { BroadcastChannels, ChannelResponse, PushApp } from "../push-transport";
import { type ApnsClient, authorizationOf, openManagementSession, openSession } from "./client";
import { type ApnsFullResponse, isProviderTokenExpired, sendForBody } from "./request";

type Request = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: object | string;
};

/**
 * Manages broadcast channels (Apple, "Sending channel management requests to APNs") and sends to them ("Sending broadcast
 * push notification requests to APNs"). node-apn connects; the requests are our own, because node-apn's repeat a creation
 * whose response was an error, name a push type that Apple does not document, and drop the status of some responses.
 */
export function createChannels(
  clientOf: (environment: PushApp["environment"]) => ApnsClient,
  timeoutMs: number,
): BroadcastChannels {
  const manage = (
    { environment, bundleId }: PushApp,
    method: Request["method"],
    name: string,
    request: Partial<Request> = {},
  ) =>
    send(clientOf(environment), openManagementSession, "manageChannelsAddress", timeoutMs, {
      method,
      path: `/1/apps/${bundleId}/${name}`,
      ...request,
    });
  const ofChannel = (channelId: string) => ({ headers: { "apns-channel-id": channelId } });
  return {
    create: (app, isStored) => {
      const body = { "message-storage-policy": isStored ? 1 : 0, "push-type": "LiveActivity" };
      return manage(app, "POST", "channels", { body });
    },
    list: (app) => manage(app, "GET", "all-channels"),
    read: (app, channelId) => manage(app, "GET", "channels", ofChannel(channelId)),
    remove: (app, channelId) => manage(app, "DELETE", "channels", ofChannel(channelId)),
    broadcast: ({ environment, bundleId, channelId, priority, expiresAt, body }) =>
      send(clientOf(environment), openSession, "address", timeoutMs, {
        method: "POST",
        path: `/4/broadcasts/apps/${bundleId}`,
        headers: {
          "apns-channel-id": channelId,
          "apns-push-type": "liveactivity",
          "apns-priority": priority,
          "apns-expiration": expiresAt === null ? 0 : Math.floor(expiresAt.getTime() / 1000),
        },
        body,
      }),
  };
}

/** Sends a request, and once more with a new provider token if APNs says that it has expired. */
async function send(
  client: ApnsClient,
  open: (client: ApnsClient) => ReturnType<typeof openSession>,
  address: "address" | "manageChannelsAddress",
  timeoutMs: number,
  { method, path, headers, body = "" }: Request,
): Promise<ChannelResponse> {
  const requestId = randomUUID();
  const request = async () => {
    const sent = {
      ":method": method,
      ":scheme": "https",
      ":authority": client.config[address],
      ":path": path,
      authorization: authorizationOf(client),
      "apns-request-id": requestId,
      ...headers,
    };
    return sendForBody(await open(client), sent, typeof body === "string" ? body : JSON.stringify(body), timeoutMs);
  };
  const { token } = client.config;
  const { generation } = token;
  const response = await request();
  if (!isProviderTokenExpired(response)) return toChannelResponse(response);
  token.regenerate(generation);
  return toChannelResponse(await request());
}

function toChannelResponse({ headers, body, ...response }: ApnsFullResponse): ChannelResponse {
  const { channels } = body;
  const channelId = headers["apns-channel-id"];
  return {
    ...response,
    channelId: typeof channelId === "string" ? channelId : undefined,
    channelIds: Array.isArray(channels) ? channels.filter((id) => typeof id === "string") : undefined,
    isStored: "message-storage-policy" in body ? body["message-storage-policy"] === 1 : undefined,
  };
}
