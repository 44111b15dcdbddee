import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "disableAccount",
  description:
    "Ends the account's sessions, removes its devices, and blocks sign-ins. Its data and its subscriptions stay. The last admin cannot be disabled. Repeating the request changes nothing.",
  requests: { "With a reason": { reason: REASON } },
  responses: {
    200: {
      description: "The account is disabled.",
      examples: {
        Changed: {
          account: { ...ACCOUNT, disabledAt: "2026-11-22T14:03:00.000Z" },
          isChanged: true,
          sessionsEnded: 3,
          devicesRemoved: 2,
        },
      },
    },
  },
};
