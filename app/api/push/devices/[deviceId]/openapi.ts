import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "removeDevice",
  description: "Somebody else's device is as little there as one that does not exist.",
  responses: { 204: { description: "Removed. Nothing is pushed to it any more." } },
};
