import { CHANNEL } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "broadcastToPushChannel",
  description:
    "Sends one notification to APNs, which updates or ends all Live Activities that subscribe to the channel. It is not queued: a success means that APNs has accepted it. A payload over 5,120 bytes is refused. After 503 `apns_unavailable`, send the newest state again.",
  requests: {
    "A goal": { event: "update", contentState: { home: 1, away: 0 }, priority: 10, ttlSeconds: 3600 },
    "The end": { event: "end", contentState: { home: 2, away: 1 }, dismissalDate: "2026-11-20T21:00:00Z" },
  },
  responses: {
    200: {
      description: "APNs has accepted it.",
      examples: { "A goal": { channelId: CHANNEL.channelId, sentAt: "2026-11-20T19:12:00.000Z" } },
    },
  },
};
