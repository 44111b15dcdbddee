import type { OperationDetails } from "@/scripts/openapi/operation";

export const ENDPOINT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  url: "https://hooks.example.com/homeport",
  description: "CRM",
  eventTypes: ["account.created", "subscription.changed"],
  status: "enabled",
  disabledReason: null,
  disabledAt: null,
  failingSince: null,
  previousSecretExpiresAt: null,
  createdAt: "2026-11-22T09:00:00.000Z",
};
const NEW = { url: ENDPOINT.url, eventTypes: ENDPOINT.eventTypes, description: ENDPOINT.description };
export const WITH_SECRET = { ...ENDPOINT, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" };

export const GET: OperationDetails = {
  operationId: "listWebhookEndpoints",
  description: "Lists endpoints, newest first. There are at most 50.",
  responses: { 200: { description: "The endpoints.", examples: { "One endpoint": { endpoints: [ENDPOINT] } } } },
};

export const POST: OperationDetails = {
  operationId: "createWebhookEndpoint",
  description:
    "Creates an endpoint. It gets the events of its types from now on; other instances of the service notice it within ten seconds. Deliveries are signed according to Standard Webhooks 1.0.0, with the secret of this response, which is not shown again. The URL must be https with a public address, unless `WEBHOOK_ALLOWED_NETWORKS` has its address.",
  requests: { "Two types": NEW },
  responses: { 201: { description: "The endpoint with its secret.", examples: { "An endpoint": WITH_SECRET } } },
};
