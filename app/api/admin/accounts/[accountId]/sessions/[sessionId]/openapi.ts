import { ACCOUNT } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "endAccountSession",
  description: "Ends one session, and removes the devices that it registered.",
  responses: {
    200: {
      description: "The session has ended.",
      examples: { Ended: { account: ACCOUNT, isChanged: true, sessionsEnded: 1, devicesRemoved: 0 } },
    },
  },
};
