import { z } from "zod";
import type { Config } from "../../platform/config";
import type { EventFacts, ProviderEvent } from "../events";
import { buildProviderEvent } from "./build-event";
import {
  EventId,
  entitlements,
  findInvalid,
  NullableTexts,
  OptionalBoolean,
  OptionalText,
  OptionalTexts,
  Rfc3339Ms,
  requireFields,
  toDate,
  toPastDate,
  withoutRenewalNumber,
} from "./fields";
import type { Delivery, Provider } from "./provider";
import { requireAuthentic } from "./require-authentic";

/** "Payload structure" of the specification. docs/guides/billing.md documents `data`. */
const Payload = z.object({
  type: OptionalText,
  timestamp: Rfc3339Ms,
  data: z.object({
    customerId: OptionalText,
    aliases: NullableTexts,
    transferredFrom: NullableTexts,
    environment: OptionalText,
    store: OptionalText,
    originalTransactionId: OptionalText,
    transactionId: OptionalText,
    purchasedAt: Rfc3339Ms,
    expiresAt: Rfc3339Ms,
    gracePeriodEndsAt: Rfc3339Ms,
    resumesAt: Rfc3339Ms,
    productId: OptionalText,
    newProductId: OptionalText,
    entitlementIds: OptionalTexts,
    periodType: OptionalText,
    isFamilyShare: OptionalBoolean,
    cancelReason: OptionalText,
    expirationReason: OptionalText,
    isRefund: OptionalBoolean,
  }),
});

const Envelope = z.object({ data: z.object({}).loose() }).loose();
const MessageId = z.object({ "webhook-id": EventId });

/** Senders that implement the Standard Webhooks specification (standardwebhooks.com), version 1.0.0. */
export const standardWebhooks = {
  name: "standard-webhooks",
  recognizes: ({ headers }: Delivery) => headers.get("webhook-signature") !== null,
  authenticate: (config: Config, delivery: Delivery, now: Date) => {
    requireAuthentic("standardWebhooks", config, delivery, now);
    return delivery.json();
  },
  eventId: (body: unknown, { headers }: Delivery) => {
    requireFields(Envelope, body);
    return requireFields(MessageId, { "webhook-id": headers.get("webhook-id") })["webhook-id"];
  },
  toPayload: (body: unknown) => body,
  read,
} satisfies Provider;

/** The type is the last part of the payload's: `subscription.billing_issue` is BILLING_ISSUE. */
function read(body: unknown, receivedAt: Date): ProviderEvent {
  const given = requireFields(Envelope, body);
  const payload = Payload.parse(given);
  const { data } = payload;
  const { environment, store, transactionId, customerId } = data;
  const type = payload.type?.slice(payload.type.lastIndexOf(".") + 1).toUpperCase() || "UNKNOWN";
  const event = buildProviderEvent({
    type,
    occurredAt: toPastDate(payload.timestamp, receivedAt) ?? receivedAt,
    environment,
    store,
    purchaseId: withoutRenewalNumber(store, data.originalTransactionId ?? transactionId),
    transactionId,
    customers: [customerId, ...(data.aliases ?? [])],
    previousCustomers: type === "TRANSFER" ? (data.transferredFrom ?? []) : [],
    facts: {
      purchasedAt: toPastDate(data.purchasedAt, receivedAt),
      expiresAt: toDate(data.expiresAt),
      gracePeriodEndsAt: toDate(data.gracePeriodEndsAt),
      resumesAt: toDate(data.resumesAt),
      productId: data.productId,
      newProductId: data.newProductId,
      entitlementIds: entitlements(data.entitlementIds),
      periodType: data.periodType,
      isFamilyShare: data.isFamilyShare,
      cancelReason: data.cancelReason,
      expirationReason: data.expirationReason,
      isRefund: data.isRefund ?? false,
      identityChange: identityChange(type),
      invalidField: invalidTime(given),
    },
  });
  return { ...event, appUserId: customerId };
}

/** A text that is no time would be read as none, which ends access. */
function invalidTime({ data, ...envelope }: z.infer<typeof Envelope>): string | null {
  const times = ["purchasedAt", "expiresAt", "gracePeriodEndsAt", "resumesAt"];
  const invalid = findInvalid(data, times, Rfc3339Ms);
  return invalid ? `/data/${invalid}` : findInvalid(envelope, ["timestamp"], Rfc3339Ms) && "/timestamp";
}

function identityChange(type: string): EventFacts["identityChange"] {
  if (type === "TRANSFER") return "transfer";
  return type === "SUBSCRIBER_ALIAS" ? "alias" : null;
}
