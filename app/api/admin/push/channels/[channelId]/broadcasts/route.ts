import { APNS_ERRORS } from "@/app/api/admin/push/channels/endpoints";
import { operatorOf } from "@/lib/admin/operator";
import { sendBroadcast } from "@/lib/admin/push/channels/channels";
import { Broadcast, ChannelParams, NewBroadcast } from "@/lib/admin/push/channels/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/push/channels/[channelId]/broadcasts",
  {
    POST: endpoint({
      summary: "Send to the Live Activities of a channel",
      auth: { role: "admin", stepUp: true, scope: "push:send" },
      idempotency: "replay",
      params: ChannelParams,
      body: NewBroadcast,
      errors: ["not_found", ...APNS_ERRORS],
      responses: { 200: Broadcast },
      handle: ({ ctx, principal, params, body, caller }) =>
        sendBroadcast(ctx, operatorOf(principal, caller), params.channelId, body),
    }),
  },
);
