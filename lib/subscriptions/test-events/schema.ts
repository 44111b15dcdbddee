import { z } from "zod";
import { Reason } from "../../platform/audit/schema";
import { DeliveryReceipt, SubscriptionStatus, WebhookQuery } from "../schema";
import { TestEventType } from "./test-change";

const ProviderName = WebhookQuery.shape.provider.unwrap();
export type ProviderName = z.infer<typeof ProviderName>;

export const TestEvent = z.strictObject({
  type: TestEventType.describe(
    "What happens to the account's test subscription, which starts first if it does not run.",
  ),
  accountId: z.uuid().toLowerCase().describe("The account. It becomes a sandbox tester for an hour."),
  provider: ProviderName.optional().describe("The sender. Default: the first one that is configured."),
  productId: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe("A product of `BILLING_PRODUCTS`, or one that was bought. Default: the subscription's."),
  reason: Reason.optional(),
});
export type TestEvent = z.infer<typeof TestEvent>;

const AccountStatus = SubscriptionStatus.pick({ status: true, isActive: true, accessEndsAt: true }).extend({
  entitlementIds: z.array(z.string()).describe("Those that give access now."),
});

export const SentTestEvent = z.object({
  provider: ProviderName,
  productId: z.string(),
  purchaseId: z.uuid().nullable().describe("The test subscription."),
  status: SubscriptionStatus.shape.status.describe("The status of the test subscription after the last delivery."),
  sandboxUntil: z.date().describe("Until when purchases outside of production give the account access."),
  events: z
    .array(DeliveryReceipt.extend({ type: TestEventType, event: z.string().describe("The provider's name of it.") }))
    .describe("The deliveries, in order, each with its outcome."),
  before: AccountStatus.describe("The account's status before."),
  after: AccountStatus.describe("The account's status after the last delivery."),
});
export type SentTestEvent = z.infer<typeof SentTestEvent>;

const TestEventText = z.object({
  type: TestEventType,
  event: z.string().describe("The provider's name of it."),
  status: SubscriptionStatus.shape.status.describe("The status of the test subscription after it."),
  effect: z.string(),
});

export const TestEventProviders = z.object({
  providers: z.array(
    z.object({
      provider: ProviderName,
      unavailable: z
        .string()
        .nullable()
        .describe("Why no test event of this provider can be sent. null: it is configured."),
      products: z.array(z.object({ productId: z.string(), entitlementIds: z.array(z.string()) })),
      types: z.array(TestEventText),
    }),
  ),
});
export type TestEventProviders = z.infer<typeof TestEventProviders>;
