import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showBillingEvent",
  description:
    "Returns an event with its payload, its normalized form, its purchase and what it changed. The changes are computed from all events of the purchase, so they are also right for older events.",
  responses: { 200: { description: "The event." } },
};
