import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "endPushPause",
  description: "Ends a pause, and makes the deliveries due that waited for it.",
  responses: { 200: { description: "The pause has ended.", examples: { "Two waited": { resumed: 2 } } } },
};
