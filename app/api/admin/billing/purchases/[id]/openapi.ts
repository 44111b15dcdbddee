import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showPurchaseTimeline",
  description:
    "Returns a purchase with its status and the events that determine its state, newest first, each with the state before and after it. The order is the one in which events count, which may differ from their order of arrival.",
  responses: { 200: { description: "The purchase, and a page of its events." } },
};
