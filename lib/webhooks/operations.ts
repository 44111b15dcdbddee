import { z } from "zod";
import { formOperation, operation } from "../operation";
import { ifMatch, withState } from "../platform/http/content/conditional";
import { findDelivery, listDeliveries } from "./deliveries";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  endpointState,
  findEndpoint,
  listEndpoints,
  rotateSecret,
} from "./endpoints";
import { WebhookEventType } from "./events";
import { replayDeliveries, retryDelivery, sendTestEvent } from "./replay";
import {
  ChangedEndpoint,
  Deliveries,
  DeliveriesQuery,
  DeliveryDetails,
  DeliveryParams,
  Endpoint,
  EndpointParams,
  Endpoints,
  EndpointWithSecret,
  NewEndpoint,
  Replay,
  Replayed,
  SentEvent,
} from "./schema";

const ENDPOINT = {
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

const WITH_SECRET = { ...ENDPOINT, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" };

const DELIVERY = {
  eventId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12",
  type: "account.created",
  occurredAt: "2026-11-22T09:00:00.000Z",
  state: "delivered",
  attempts: 1,
  nextAttemptAt: null,
  lastAttemptAt: "2026-11-22T09:00:01.000Z",
  durationMs: 84,
  responseStatus: 200,
  error: null,
};

const PAYLOAD = {
  type: DELIVERY.type,
  timestamp: DELIVERY.occurredAt,
  data: { accountId: "019aa5f0-1111-7b60-9d2f-3a1f0c5e8b11" },
};

const READ = { role: "support", scope: "webhooks:read" } as const;
const WRITE = { role: "admin", stepUp: true, scope: "webhooks:write", idempotency: "replay" } as const;

const OVERWRITTEN = "Somebody else has changed this endpoint since you opened the page. Reload it to see their change.";

const endpointPage = (endpointId: string): string => `/console/settings/webhooks/${endpointId}`;

/** Which secret the page of an endpoint shows once. */
export const webhookSecretKind = (endpointId: string): string => `webhook:${endpointId}`;

const withSecret = ({ id, secret }: EndpointWithSecret) => ({
  to: endpointPage(id),
  secret: { kind: webhookSecretKind(id), value: secret },
});

export const webhookOperations = {
  listWebhookEndpoints: operation({
    id: "listWebhookEndpoints",
    summary: "List the webhook endpoints",
    description: "Lists endpoints, newest first. There are at most 50.",
    ...READ,
    response: { schema: Endpoints, examples: { "One endpoint": { endpoints: [ENDPOINT] } } },
    run: ({ ctx }) => listEndpoints(ctx),
  }),

  createWebhookEndpoint: operation({
    id: "createWebhookEndpoint",
    summary: "Create a webhook endpoint",
    description:
      "Creates an endpoint. It gets the events of its types from now on; other instances of the service notice it within ten seconds. Deliveries are signed according to Standard Webhooks 1.0.0, with the secret of this response, which is not shown again. The URL must be https with a public address, unless `WEBHOOK_ALLOWED_NETWORKS` has its address.",
    ...WRITE,
    idempotency: "refuse",
    body: NewEndpoint,
    errors: ["idempotency_key_used", "webhook_limit_reached"],
    examples: { "Two types": NEW },
    response: { status: 201, schema: EndpointWithSecret, examples: { "An endpoint": WITH_SECRET } },
    run: ({ ctx, operator, body }) => createEndpoint(ctx, operator, body),
    form: {
      kept: ["url", "description", ...WebhookEventType.options.map((type) => `eventTypes.${type}`)],
      after: (endpoint) => ({ done: "created", ...withSecret(endpoint) }),
    },
  }),

  getWebhookEndpoint: operation({
    id: "getWebhookEndpoint",
    summary: "Get a webhook endpoint",
    description: "Returns an endpoint, without its secret.",
    ...READ,
    params: EndpointParams,
    errors: ["not_found"],
    response: { schema: Endpoint, headers: ["ETag"], examples: { "An endpoint": ENDPOINT } },
    run: async ({ ctx, params }) => {
      const found = await findEndpoint(ctx, params.endpointId);
      return withState(found, endpointState(found));
    },
  }),

  changeWebhookEndpoint: operation({
    id: "changeWebhookEndpoint",
    summary: "Change a webhook endpoint",
    description:
      "Changes the fields that are given. Disabling an endpoint stops its deliveries; enabling it resumes those that wait. To deliver the events that happened in between, replay them.",
    headers: ["IfMatchState"],
    ...WRITE,
    params: EndpointParams,
    body: ChangedEndpoint,
    errors: ["not_found", "precondition_failed"],
    examples: { "Disable it": { enabled: false } },
    response: { schema: Endpoint, examples: { "An endpoint": ENDPOINT } },
    run: ({ ctx, operator, params, body, request }) =>
      changeEndpoint(ctx, operator, params.endpointId, body, ifMatch(request)),
    form: {
      fields: NewEndpoint.extend({ ...EndpointParams.shape, previewed: z.string().max(64) }),
      toInput: ({ endpointId, previewed, description = null, ...change }) => ({
        params: { endpointId },
        body: { ...change, description },
        ifMatch: `"${previewed}"`,
      }),
      errors: { precondition_failed: { message: OVERWRITTEN } },
      after: () => ({ done: "changed" }),
    },
  }),

  toggleWebhookEndpoint: formOperation({
    id: "toggleWebhookEndpoint",
    summary: "Disable or enable a webhook endpoint",
    role: "admin",
    params: EndpointParams,
    body: z.object({ enabled: z.boolean() }),
    run: ({ ctx, operator, params, body }) => changeEndpoint(ctx, operator, params.endpointId, body),
    form: { after: (_, { enabled }) => ({ done: enabled ? "enabled" : "disabled" }) },
  }),

  deleteWebhookEndpoint: operation({
    id: "deleteWebhookEndpoint",
    summary: "Delete a webhook endpoint",
    description: "Deletes an endpoint with its deliveries. A delivery in progress may still arrive.",
    ...WRITE,
    params: EndpointParams,
    errors: ["not_found"],
    response: { schema: null },
    run: ({ ctx, operator, params }) => deleteEndpoint(ctx, operator, params.endpointId),
    form: { after: () => ({ to: "/console/settings/webhooks", done: "deleted" }) },
  }),

  listWebhookDeliveries: operation({
    id: "listWebhookDeliveries",
    summary: "List the deliveries of a webhook endpoint",
    description: "Lists deliveries, those of the newest events first. Deliveries are kept for 30 days.",
    ...READ,
    params: EndpointParams,
    query: DeliveriesQuery,
    errors: ["not_found"],
    response: { schema: Deliveries, examples: { "One delivery": { deliveries: [DELIVERY], nextCursor: null } } },
    run: ({ ctx, params, query }) => listDeliveries(ctx, params.endpointId, query),
  }),

  getWebhookDelivery: operation({
    id: "getWebhookDelivery",
    summary: "Get a delivery with its payload and response",
    description: "Returns a delivery with what was sent and the start of the last response.",
    ...READ,
    params: DeliveryParams,
    errors: ["not_found"],
    response: {
      schema: DeliveryDetails,
      examples: { "A delivery": { ...DELIVERY, payload: PAYLOAD, responseBody: "ok" } },
    },
    run: ({ ctx, params }) => findDelivery(ctx, params.endpointId, params.eventId),
  }),

  retryWebhookDelivery: operation({
    id: "retryWebhookDelivery",
    summary: "Attempt a delivery now",
    description:
      "Queues the delivery of an event again, even if it was delivered. Its attempts are counted from the beginning.",
    ...WRITE,
    params: DeliveryParams,
    errors: ["not_found", "webhook_disabled"],
    response: { status: 202, description: "It is queued.", schema: null },
    run: ({ ctx, operator, params }) => retryDelivery(ctx, operator, params),
    form: { after: () => ({ done: "retried" }) },
  }),

  replayWebhookDeliveries: operation({
    id: "replayWebhookDeliveries",
    summary: "Replay the events since a time",
    description:
      "Queues the events since a time again: those whose delivery failed, and those that happened while the endpoint was disabled. With `all`, those that were delivered, too. Receivers recognize an event by its `webhook-id`.",
    ...WRITE,
    params: EndpointParams,
    body: Replay,
    errors: ["not_found", "webhook_disabled"],
    examples: { "Since an outage": { since: "2026-11-22T09:00:00Z" } },
    response: { status: 202, schema: Replayed, examples: { "Three events": { queued: 3 } } },
    run: ({ ctx, operator, params, body }) => replayDeliveries(ctx, operator, params.endpointId, body),
    form: { after: ({ queued }) => ({ done: queued === 0 ? "replayed_none" : "replayed" }) },
  }),

  rotateWebhookSecret: operation({
    id: "rotateWebhookSecret",
    summary: "Rotate the secret of a webhook endpoint",
    description:
      "Replaces the secret. For a day, deliveries have two signatures, by the new secret and by the one before. A second rotation within the day ends the first secret at once.",
    ...WRITE,
    idempotency: "refuse",
    params: EndpointParams,
    errors: ["not_found", "idempotency_key_used"],
    response: { schema: EndpointWithSecret, examples: { "An endpoint": WITH_SECRET } },
    run: ({ ctx, operator, params }) => rotateSecret(ctx, operator, params.endpointId),
    form: { after: (endpoint) => ({ done: "rotated", ...withSecret(endpoint) }) },
  }),

  sendWebhookTestEvent: operation({
    id: "sendWebhookTestEvent",
    summary: "Send a test event to a webhook endpoint",
    description: "Queues an event of type `webhook.test` for the endpoint, whatever types it subscribes to.",
    ...WRITE,
    params: EndpointParams,
    errors: ["not_found", "webhook_disabled"],
    response: {
      status: 202,
      schema: SentEvent,
      examples: { "An event": { eventId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12" } },
    },
    run: ({ ctx, operator, params }) => sendTestEvent(ctx, operator, params.endpointId),
    form: {
      after: ({ eventId }, { endpointId }) => ({ to: `${endpointPage(endpointId)}/${eventId}`, done: "tested" }),
    },
  }),
};
