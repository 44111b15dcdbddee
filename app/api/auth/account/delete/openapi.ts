import { CREDENTIALS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "deleteAccount",
  description:
    "Deletes the account with its sessions, devices and identities, and emails its owner. Requires the password; after several wrong ones, each further attempt must wait. An account without a password requires a sign-in within the last ten minutes instead. Apple is asked to revoke the access that a sign-in with Apple gave. Store subscriptions continue until they are canceled in the store.",
  requests: {
    "With a password": { confirm: "DELETE", password: CREDENTIALS.password },
    "Without a password": { confirm: "DELETE" },
  },
  responses: {
    200: {
      description:
        "The account was deleted. `subscriptions` lists the active store subscriptions with the URLs to cancel them.",
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
        "Without a subscription": { status: "deleted", subscriptions: [], storeSubscriptionsCancelled: false },
      },
    },
  },
};
