import { ACTIVE } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listDevices",
  description: "Lists devices, newest first. `current` marks the device that the current session registered.",
  responses: {
    200: {
      description: "The account's devices.",
      examples: { "One device": { devices: [ACTIVE] }, "No devices": { devices: [] } },
    },
  },
};
