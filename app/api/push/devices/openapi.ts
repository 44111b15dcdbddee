import { ACTIVE } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listDevices",
  description: "Newest first. `current`: this very session registered it.",
  responses: {
    200: {
      description: "The account's devices.",
      examples: { "One device": { devices: [ACTIVE] }, None: { devices: [] } },
    },
  },
};
