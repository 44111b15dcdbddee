import { z } from "zod";
import { NextCursor, PageQuery } from "../platform/lists";
import { Time } from "../platform/storable";
import { WebhookEventType } from "./events";

const Url = z
  .string()
  .trim()
  .max(2_048)
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), "Must be an https URL")
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === "",
    "Must have no password",
  )
  .transform((text) => {
    const url = new URL(text);
    url.hash = "";
    return url.href;
  })
  .describe("Where deliveries are posted to.");
const eventTypes = z
  .array(WebhookEventType)
  .min(1, "Must have at least one type")
  .max(WebhookEventType.options.length)
  .transform((types) => [...new Set(types)].sort())
  .describe("The types of events that it gets.");
const description = z
  .string()
  .trim()
  .max(200)
  .transform((text) => text || null)
  .nullish()
  .describe("What the endpoint is for.");

export const NewEndpoint = z.strictObject({ url: Url, eventTypes, description });
export type NewEndpoint = z.infer<typeof NewEndpoint>;

export const ChangedEndpoint = z
  .strictObject({
    url: Url.optional(),
    eventTypes: eventTypes.optional(),
    description,
    enabled: z
      .boolean()
      .optional()
      .describe("A disabled endpoint receives nothing. Its events are kept and can be replayed."),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), "Must have at least one field");
export type ChangedEndpoint = z.infer<typeof ChangedEndpoint>;

export const EndpointParams = z.object({ endpointId: z.uuid().toLowerCase() });
export const DeliveryParams = EndpointParams.extend({ eventId: z.uuid().toLowerCase() });

export const Endpoint = z.object({
  id: z.uuid(),
  url: z.string(),
  description: z.string().nullable(),
  eventTypes: z.array(z.string()),
  status: z.enum(["enabled", "failing", "disabled"]).describe("`failing`: enabled, and the last attempt failed."),
  disabledReason: z
    .enum(["operator", "gone", "failing"])
    .nullable()
    .describe("`gone`: it responded 410. `failing`: it failed for five days."),
  disabledAt: z.date().nullable(),
  failingSince: z.date().nullable(),
  previousSecretExpiresAt: z.date().nullable().describe("When deliveries stop being signed with the previous secret."),
  createdAt: z.date(),
});
export type Endpoint = z.infer<typeof Endpoint>;

export const EndpointWithSecret = Endpoint.extend({
  secret: z.string().describe("Signs the deliveries. It is not shown again."),
});
export type EndpointWithSecret = z.infer<typeof EndpointWithSecret>;

export const Endpoints = z.object({ endpoints: z.array(Endpoint) });
export type Endpoints = z.infer<typeof Endpoints>;

const DeliveryState = z.enum(["pending", "delivered", "failed"]);

export const DeliveriesQuery = z.object({ state: DeliveryState.optional(), ...PageQuery.shape });
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;

export const Delivery = z.object({
  eventId: z.uuid().describe("Sent as `webhook-id`."),
  type: z.string(),
  occurredAt: z.date(),
  state: DeliveryState,
  attempts: z.int(),
  nextAttemptAt: z.date().nullable(),
  lastAttemptAt: z.date().nullable(),
  durationMs: z.int().nullable(),
  responseStatus: z.int().nullable(),
  error: z.string().nullable().describe("Why there was no response."),
});
export type Delivery = z.infer<typeof Delivery>;

export const DeliveryDetails = Delivery.extend({
  payload: z.object({ type: z.string(), timestamp: z.date(), data: z.record(z.string(), z.unknown()) }),
  responseBody: z.string().nullable().describe("The first 1,024 bytes."),
});
export type DeliveryDetails = z.infer<typeof DeliveryDetails>;

export const Deliveries = z.object({ deliveries: z.array(Delivery), nextCursor: NextCursor });
export type Deliveries = z.infer<typeof Deliveries>;

export const Replay = z.strictObject({
  since: Time.describe("Events from this time on. Events are kept for 30 days."),
  all: z.boolean().default(false).describe("Also those that were delivered."),
});
export type Replay = z.infer<typeof Replay>;

export const Replayed = z.object({ queued: z.int().describe("The deliveries that were queued.") });
export const SentEvent = z.object({ eventId: z.uuid() });
