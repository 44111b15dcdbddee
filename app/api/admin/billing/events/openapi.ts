import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listBillingEvents",
  description:
    "Lists the events that the billing provider sent, newest first. Filters can be combined. Follow `nextCursor` until it is null, even after an empty page.",
  responses: {
    200: {
      description: "A page of events.",
      examples: {
        "A failed event": {
          events: [
            {
              id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
              provider: "revenuecat",
              eventId: "12345678-1234-1234-1234-123456789012",
              type: "RENEWAL",
              state: "failed",
              reason: "transaction_not_named",
              environment: "PRODUCTION",
              store: "APP_STORE",
              occurredAt: "2026-11-20T09:00:00.000Z",
              receivedAt: "2026-11-20T09:00:01.000Z",
              processedAt: null,
              purchaseId: null,
              accountId: null,
              accountEmail: null,
            },
          ],
          nextCursor: null,
        },
      },
    },
  },
};
