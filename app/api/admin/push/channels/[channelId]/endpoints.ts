import { APNS_ERRORS } from "@/app/api/admin/push/channels/endpoints";
import { operatorOf } from "@/lib/admin/operator";
import { deleteChannel, showChannel } from "@/lib/admin/push/channels/channels";
import { Channel, ChannelApp, ChannelParams } from "@/lib/admin/push/channels/schema";
import { endpoint } from "@/lib/http/endpoint";
import { RouteResponse } from "@/lib/http/route-response";

export const getOne = endpoint({
  summary: "Show a broadcast channel",
  auth: { role: "support", scope: "push:read" },
  params: ChannelParams,
  query: ChannelApp,
  errors: ["not_found", ...APNS_ERRORS],
  responses: { 200: Channel },
  handle: ({ ctx, params, query }) => showChannel(ctx, params.channelId, query),
});

export const deleteOne = endpoint({
  summary: "Delete a broadcast channel",
  auth: { role: "admin", stepUp: true, scope: "push:send" },
  params: ChannelParams,
  query: ChannelApp,
  errors: ["not_found", ...APNS_ERRORS],
  responses: { 204: null },
  handle: async ({ ctx, principal, params, query, caller }) => {
    await deleteChannel(ctx, operatorOf(principal, caller), params.channelId, query);
    return new RouteResponse(204, null);
  },
});
