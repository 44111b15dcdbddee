import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "removeDevice",
  description: "Removes a device of the caller. The device of another account returns 404, as an unknown one does.",
  responses: { 204: { description: "The device was removed and receives no more notifications." } },
};
