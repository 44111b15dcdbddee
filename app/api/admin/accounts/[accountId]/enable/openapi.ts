import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "enableAccount",
  description: "Its owner can sign in again. Repeating the request changes nothing.",
  requests: { "With a reason": { reason: REASON } },
  responses: {
    200: {
      description: "The account is enabled.",
      examples: { Changed: { account: ACCOUNT, isChanged: true, sessionsEnded: 0, devicesRemoved: 0 } },
    },
  },
};
