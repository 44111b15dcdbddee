import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPushDeliveries",
  description:
    "Lists deliveries: those being sent and those that wait, in their order, then those that have ended, newest first. Those of an account are listed newest first, those of an announcement by device. A `reason` without a `state` is that of failed and canceled deliveries. Deliveries that have ended are kept for 30 days.",
  responses: {
    200: {
      description: "A page of deliveries.",
      examples: {
        "A failed delivery": {
          deliveries: [
            {
              id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b13",
              messageId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
              deviceId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12",
              eventKey: "version:2.1.0",
              kind: "app.new_version",
              title: "2.1.0",
              state: "failed",
              attempts: 1,
              apnsStatus: 410,
              reason: "Unregistered",
              createdAt: "2026-11-20T09:00:00.000Z",
              expiresAt: "2026-11-27T09:00:00.000Z",
              nextAttemptAt: null,
              endedAt: "2026-11-20T09:00:01.000Z",
            },
          ],
          nextCursor: null,
        },
      },
    },
  },
};
