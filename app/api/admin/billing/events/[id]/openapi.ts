import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showBillingEvent",
  description:
    "An event with its payload, the normalized form that was read from it, its purchase, and what it changed. The changes are computed by folding the purchase's events, so that they are right for older events, too.",
  responses: { 200: { description: "The event." } },
};
