import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "assignPurchases",
  description:
    "Assigns the purchases of an unlinked customer to an account, and those that the customer makes later. The customer is named by one of the purchases or by an App User ID. It stores an event of type `SUBSCRIBER_ALIAS`, as the provider sends one when the app names the account. Purchases of another account are refused. Repeating the request changes nothing.",
  requests: {
    "What would be assigned": {
      purchaseId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
      accountId: "019aa5f0-9a51-7c09-8d3e-1b9e4f0a2c77",
      isDryRun: true,
    },
  },
  responses: {
    200: {
      description: "The customer's purchases. With `isDryRun`, `eventId` is null.",
      examples: {
        Assigned: {
          purchases: [
            {
              id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
              productId: "com.example.pro.monthly",
              store: "APP_STORE",
              environment: "PRODUCTION",
            },
          ],
          appUserIds: ["$RCAnonymousID:2f1c7d9b5e0a4c3f8b6d1e2a3c4b5d6e"],
          eventId: "assignment:019aa5f1-03b2-7f4e-a1c8-5d6e7f809112",
        },
      },
    },
  },
};
