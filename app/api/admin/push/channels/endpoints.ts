import { operatorOf } from "@/lib/admin/operator";
import { createChannel, listChannels } from "@/lib/admin/push/channels/channels";
import { Channel, ChannelApp, Channels, NewChannel } from "@/lib/admin/push/channels/schema";
import { endpoint } from "@/lib/http/endpoint";

/** What every request to APNs may fail with. */
export const APNS_ERRORS = ["apns_rejected", "apns_unavailable", "push_not_configured", "validation_failed"] as const;

export const listAll = endpoint({
  summary: "List the broadcast channels of an app",
  auth: { role: "support", scope: "push:read" },
  query: ChannelApp,
  errors: APNS_ERRORS,
  responses: { 200: Channels },
  handle: ({ ctx, query }) => listChannels(ctx, query),
});

export const createOne = endpoint({
  summary: "Create a broadcast channel",
  auth: { role: "admin", stepUp: true, scope: "push:send" },
  idempotency: "replay",
  body: NewChannel,
  errors: APNS_ERRORS,
  responses: { 201: Channel },
  handle: ({ ctx, principal, body, caller }) => createChannel(ctx, operatorOf(principal, caller), body),
});
