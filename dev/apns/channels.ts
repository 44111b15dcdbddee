import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { type Rejection, reject } from "./rejection";
import { type Channel, parse, validateChannelId, validateNewChannel } from "./validation";

/** Of an app, in an environment. */
const MAX_CHANNELS = 10_000;

type ChannelReply = Rejection | { status: 200 | 201 | 204; headers: OutgoingHttpHeaders; body?: object };

/** The broadcast channels of all apps (Apple, "Sending channel management requests to APNs"). */
export function createChannels(maxChannels = MAX_CHANNELS) {
  const channels = new Map<string, Channel>();
  const ofApp = (bundleId: string) => [...channels].filter(([, channel]) => channel.bundleId === bundleId);

  const create = (headers: IncomingHttpHeaders, bundleId: string, body: Buffer): ChannelReply => {
    const rejection = validateNewChannel(headers, body, ofApp(bundleId).length >= maxChannels);
    if (rejection) return rejection;
    const id = randomBytes(16).toString("base64");
    channels.set(id, { ...(parse(body) as Omit<Channel, "bundleId">), bundleId });
    return { status: 201, headers: { "apns-channel-id": id } };
  };
  const find = (headers: IncomingHttpHeaders, bundleId: string): Channel | undefined => {
    const channel = channels.get(String(headers["apns-channel-id"]));
    return channel?.bundleId === bundleId ? channel : undefined;
  };
  const one = (headers: IncomingHttpHeaders, bundleId: string): ChannelReply => {
    const channel = find(headers, bundleId);
    const rejection = validateChannelId(headers, channel);
    if (rejection) return rejection;
    if (headers[":method"] === "DELETE") {
      channels.delete(String(headers["apns-channel-id"]));
      return { status: 204, headers: {} };
    }
    const { bundleId: _, ...body } = channel ?? {};
    return { status: 200, headers: {}, body };
  };
  const reply = (headers: IncomingHttpHeaders, bundleId: string, name: string, body: Buffer): ChannelReply => {
    const method = String(headers[":method"]);
    if (name === "all-channels" && method === "GET") {
      return { status: 200, headers: {}, body: { channels: ofApp(bundleId).map(([id]) => id) } };
    }
    if (name === "channels" && method === "POST") return create(headers, bundleId, body);
    if (name === "channels" && (method === "GET" || method === "DELETE")) return one(headers, bundleId);
    return reject(405, "MethodNotAllowed");
  };
  return {
    find,
    reply,
    /** The `apns-request-id` of a response: that of the request, or a new one. */
    requestId: (headers: IncomingHttpHeaders) => headers["apns-request-id"] ?? randomUUID(),
  };
}
