import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "resetAccountFactors",
  description:
    "For an owner who has lost them: removes the authenticator app, the recovery codes and the passkeys, ends the sessions, and sends an email to the owner.",
  requests: { "With a reason": { reason: REASON } },
  responses: {
    200: {
      description: "The account has no second factor.",
      examples: { Changed: { account: ACCOUNT, isChanged: true, sessionsEnded: 3, devicesRemoved: 2 } },
    },
  },
};
