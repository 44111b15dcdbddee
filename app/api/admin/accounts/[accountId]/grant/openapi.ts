import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "setAccountRole",
  description:
    "Takes effect at once, also in live sessions. The role of the last admin cannot be changed. Repeating the request changes nothing.",
  requests: { "With a reason": { role: "support", reason: REASON } },
  responses: {
    200: {
      description: "The account has the role.",
      examples: {
        Changed: {
          account: { ...ACCOUNT, role: "support" },
          previousRole: "user",
          isChanged: true,
          sessionsEnded: 0,
          devicesRemoved: 0,
        },
      },
    },
  },
};
