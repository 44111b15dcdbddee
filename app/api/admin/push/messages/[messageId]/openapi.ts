import { ANNOUNCEMENT_DETAILS } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showPushMessage",
  description: "Shows a message, with its text if an operator wrote it, and its deliveries by state and reason.",
  responses: { 200: { description: "The message.", examples: { "An announcement": ANNOUNCEMENT_DETAILS } } },
};

export const DELETE: OperationDetails = {
  operationId: "cancelPushMessage",
  description:
    "Cancels the deliveries that no worker has begun to send. Deliveries of an announcement that are queued already end unsent when they become due: within a minute, or at their next retry. The message stays in the list. Repeating the request changes nothing.",
  responses: {
    200: {
      description: "The message.",
      examples: {
        "An announcement": { ...ANNOUNCEMENT_DETAILS, status: "canceled", canceledAt: "2026-11-20T09:05:00.000Z" },
      },
    },
  },
};
