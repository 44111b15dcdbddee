import { ENDPOINT } from "@/app/api/admin/webhooks/openapi";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getWebhookEndpoint",
  description: "Returns an endpoint, without its secret.",
  responses: { 200: { description: "The endpoint.", headers: ["ETag"], examples: { "An endpoint": ENDPOINT } } },
};

export const PATCH: OperationDetails = {
  operationId: "changeWebhookEndpoint",
  reads: ["IfMatchState"],
  description:
    "Changes the fields that are given. Disabling an endpoint stops its deliveries; enabling it resumes those that wait. To deliver the events that happened in between, replay them.",
  requests: { "Disable it": { enabled: false } },
  responses: { 200: { description: "The endpoint.", examples: { "An endpoint": ENDPOINT } } },
};

export const DELETE: OperationDetails = {
  operationId: "deleteWebhookEndpoint",
  description: "Deletes an endpoint with its deliveries. A delivery in progress may still arrive.",
  responses: { 204: { description: "It is deleted." } },
};
