import { CREDENTIALS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "deleteAccount",
  description:
    "Deletes the account with its sessions, devices and identities, and mails its owner. It needs the password, and after several wrong ones each further try has to wait; of an account that has none, a sign-in within the last ten minutes. Subscriptions of a store go on until they are cancelled there.",
  requests: {
    "With a password": { confirm: "DELETE", password: CREDENTIALS.password },
    "Of an account without one": { confirm: "DELETE" },
  },
  responses: {
    200: {
      description: "Deleted. What the stores still charge for is named, with where to cancel it.",
      headers: ["Set-Cookie"],
      examples: {
        "With a subscription": {
          status: "deleted",
          subscriptions: [
            {
              store: "APP_STORE",
              status: "active",
              expiresAt: "2026-12-20T09:00:00.000Z",
              managementUrl: "https://apps.apple.com/account/subscriptions",
            },
          ],
          storeSubscriptionsCancelled: false,
        },
        "Without one": { status: "deleted", subscriptions: [], storeSubscriptionsCancelled: false },
      },
    },
  },
};
