import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "revokeApiKey",
  description: "The key stops working at once. Repeating the request succeeds.",
  responses: { 204: { description: "The key is revoked." } },
};
