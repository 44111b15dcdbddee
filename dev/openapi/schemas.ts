import { z } from "zod";
import type { ZodOpenApiSchemaObject } from "zod-openapi";
import {
  AccountDeleted,
  AccountExport,
  Auth,
  ConfirmReset,
  DeleteAccount,
  Login,
  Register,
  RequestReset,
  User,
} from "@/lib/accounts/schema";
import {
  Passkey,
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
} from "@/lib/auth/passkeys/schema";
import { Health } from "@/lib/platform/http/health";
import { Evidence } from "@/lib/push/evidence/schema";
import { Challenge, Device, RegisterBrowser, RegisterDevice } from "@/lib/push/schema";
import { ReleaseVersion, ServiceVersion } from "@/lib/releases/http-schema";
import { DeliveryReceipt, PurchaseStatus, SubscriptionStatus } from "@/lib/subscriptions/schema";

const text = { type: "string" as const, maxLength: 255 };

/** The schemas that are components of the document, by name. */
const NAMED: Record<string, z.ZodType> = {
  AccountDeleted,
  AccountExport,
  Auth,
  Challenge,
  ConfirmReset,
  DeleteAccount,
  DeliveryReceipt,
  Device,
  Evidence,
  Health,
  Login,
  Passkey,
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
  PurchaseStatus,
  Register,
  RegisterBrowser,
  RegisterDevice,
  ReleaseVersion,
  RequestReset,
  ServiceVersion,
  SubscriptionStatus,
  User,
};
for (const [id, schema] of Object.entries(NAMED)) schema.register(z.globalRegistry, { id });

/** The bodies of the billing webhook, whose readers accept more than senders send. */
export const DELIVERIES: Record<string, ZodOpenApiSchemaObject> = {
  RevenueCatDelivery: {
    type: "object",
    description: "A RevenueCat webhook. Only the event's ID is required. Missing fields count as null.",
    required: ["event"],
    properties: {
      api_version: text,
      event: {
        type: "object",
        required: ["id"],
        properties: { id: { ...text, minLength: 1 }, type: text, app_user_id: text },
        additionalProperties: true,
      },
    },
  },
  StripeEvent: {
    type: "object",
    description: "An event of Stripe. Only its ID is required.",
    required: ["id"],
    properties: { id: { ...text, minLength: 1 }, type: text, data: { type: "object", additionalProperties: true } },
  },
  PaddleEvent: {
    type: "object",
    description: "A notification of Paddle Billing. Only the event's ID is required.",
    required: ["event_id"],
    properties: {
      event_id: { ...text, minLength: 1 },
      event_type: text,
      data: { type: "object", additionalProperties: true },
    },
  },
  AppStoreNotification: {
    type: "object",
    description: "An App Store Server Notification, version 2: a JWS with Apple's chain of certificates.",
    required: ["signedPayload"],
    properties: { signedPayload: text },
  },
  StandardWebhook: {
    type: "object",
    description: "A Standard Webhooks delivery. Its ID is in the header `webhook-id`.",
    required: ["data"],
    properties: {
      type: text,
      timestamp: { type: "string", format: "date-time" },
      data: { type: "object", properties: { customerId: text }, additionalProperties: true },
    },
  },
};
