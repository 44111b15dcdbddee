import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "revokeApiKey",
  description: "The key stops working at once. A repetition succeeds, too.",
  responses: { 204: { description: "The key is revoked." } },
};
