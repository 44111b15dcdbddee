import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "unlinkAccountProvider",
  description:
    "Removes the account's identities of a provider, ends its sessions, which the provider may have created, and sends an email to the owner, who can sign in after a password reset.",
  requests: { "With a reason": { provider: "google", reason: REASON } },
  responses: {
    200: {
      description: "The provider is unlinked.",
      examples: {
        Changed: { account: ACCOUNT, isChanged: true, identitiesRemoved: 1, sessionsEnded: 3, devicesRemoved: 2 },
      },
    },
  },
};
