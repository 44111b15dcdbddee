import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "endPushPause",
  description: "Ends a pause, and makes the deliveries that waited for it due.",
  responses: { 200: { description: "The pause has ended.", examples: { "Two waited": { resumed: 2 } } } },
};
