import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPushPauses",
  description:
    "Lists the APNs environments to which nothing is sent for now, such as after APNs has refused the key of the service. Deliveries wait.",
  responses: {
    200: {
      description: "The pauses.",
      examples: {
        "A wrong key": {
          pauses: [
            { environment: "production", until: "2026-11-20T09:05:00.000Z", reason: "403 InvalidProviderToken" },
          ],
        },
      },
    },
  },
};
