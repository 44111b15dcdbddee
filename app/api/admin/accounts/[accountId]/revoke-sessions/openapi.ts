import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "endAccountSessions",
  description: "Signs the account out on all devices, and removes its devices. Its owner can sign in again.",
  requests: { "With a reason": { reason: REASON } },
  responses: {
    200: {
      description: "The account has no live session.",
      examples: { Changed: { account: ACCOUNT, isChanged: true, sessionsEnded: 3, devicesRemoved: 2 } },
    },
  },
};
