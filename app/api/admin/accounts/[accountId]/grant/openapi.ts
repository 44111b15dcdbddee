import { ACCOUNT, REASON } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "setAccountRole",
  description:
    "Its live sessions have the role at once. The last admin keeps the role. Repeating the request changes nothing.",
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
