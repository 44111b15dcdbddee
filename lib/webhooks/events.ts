import { z } from "zod";

const accountId = z.uuid();
const ACCOUNT = "019aa5f0-1111-7b60-9d2f-3a1f0c5e8b11";

/** What each type of event means and says: ids and states, never personal data. Fields are added, not changed or removed. */
const SUBSCRIBABLE = {
  "account.created": {
    summary: "An account was registered, or created by a sign-in with a provider",
    data: z.object({ accountId }),
    example: { accountId: ACCOUNT },
  },
  "account.deleted": {
    summary: "An account was deleted by its owner or an operator, or because its email was not verified in time",
    data: z.object({ accountId }),
    example: { accountId: ACCOUNT },
  },
  "account.consent_withdrawn": {
    summary: "A parent has withdrawn the consent to a child's use of the app, in the App Store",
    data: z.object({
      accountId,
      withdrawnAt: z.iso.datetime().describe("When, as the App Store says."),
      isSuspended: z
        .boolean()
        .describe("Whether the account was disabled because of that: `CONSENT_WITHDRAWAL_SUSPENDS`."),
    }),
    example: { accountId: ACCOUNT, withdrawnAt: "2026-11-29T08:00:00.000Z", isSuspended: false },
  },
  "subscription.changed": {
    summary:
      "An event of the billing provider changed the status, the product or the active entitlements of an account",
    data: z.object({
      accountId,
      status: z.string().describe("The status that `GET /api/subscription/status` returns."),
      previousStatus: z.string().describe("The status that the event before this one led to."),
      isActive: z.boolean().describe("Whether the account has access."),
      productId: z.string().nullable(),
      entitlements: z.array(z.string()).describe("The ids of the active entitlements."),
    }),
    example: {
      accountId: ACCOUNT,
      status: "canceled",
      previousStatus: "active",
      isActive: true,
      productId: "com.example.pro.monthly",
      entitlements: ["pro"],
    },
  },
  "release.published": {
    summary: "A release was added over HTTP, or offered on another channel",
    data: z.object({
      releaseId: z.string(),
      publishedBy: z
        .object({
          type: z.enum(["publisher", "operator", "key"]),
          id: z.string().nullable().describe("null: an operator at the command line."),
          source: z
            .object({ repository: z.string(), commit: z.string(), ref: z.string(), runUrl: z.string().nullable() })
            .nullable()
            .describe("The build that a CI job has published."),
        })
        .nullable()
        .describe("null: the catalog does not say it."),
    }),
    example: { releaseId: "core-windows-x64-1.2.0", publishedBy: { type: "operator", id: ACCOUNT, source: null } },
  },
  "push.device_verified": {
    summary: "An iOS device proved its app and token, or a browser registered",
    data: z.object({
      accountId,
      deviceId: z.uuid(),
      environment: z.enum(["production", "sandbox", "web"]),
      bundleId: z.string(),
    }),
    example: {
      accountId: ACCOUNT,
      deviceId: "019aa5f0-2222-7b60-9d2f-3a1f0c5e8b11",
      environment: "production",
      bundleId: "com.example.app",
    },
  },
} as const;

/** Every type that is sent, for the documentation. */
export const WEBHOOK_EVENTS = {
  ...SUBSCRIBABLE,
  "webhook.test": {
    summary: "An operator sent a test, whatever types the endpoint subscribes to",
    data: z.object({ endpointId: z.uuid() }),
    example: { endpointId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11" },
  },
} as const;

type DataOf<Type extends keyof typeof SUBSCRIBABLE> = z.infer<(typeof SUBSCRIBABLE)[Type]["data"]>;
type PublishedBy = DataOf<"release.published">["publishedBy"];

/** The types that an endpoint can subscribe to. */
export const WebhookEventType = z.enum(Object.keys(SUBSCRIBABLE) as [SubscribableType, ...SubscribableType[]]);
type SubscribableType = keyof typeof SUBSCRIBABLE;
export type WebhookEventType = z.infer<typeof WebhookEventType>;

export function accountCreated(accountId: string): NewWebhookEvent {
  return { type: "account.created", data: { accountId }, accountId };
}

/** The event of a deleted account. It outlives the account. */
export function accountDeleted(accountId: string): NewWebhookEvent {
  return { type: "account.deleted", data: { accountId }, accountId: null };
}

/** The event of an account of a child. It has to outlive the account: the app has to delete what it knows, too. */
export function consentWithdrawn(accountId: string, at: Date, isSuspended: boolean): NewWebhookEvent {
  const data = { accountId, withdrawnAt: at.toISOString(), isSuspended };
  return { type: "account.consent_withdrawn", data, accountId: null };
}

/** The event of a release that clients can be offered from now on. */
export function releasePublished(releaseId: string, publishedBy: PublishedBy): NewWebhookEvent {
  const publisher = publishedBy && { type: publishedBy.type, id: publishedBy.id, source: publishedBy.source };
  return { type: "release.published", data: { releaseId, publishedBy: publisher }, accountId: null };
}

/** An event to announce. `accountId`: deleting that account deletes the event. */
export type NewWebhookEvent = {
  [Type in WebhookEventType]: { type: Type; data: DataOf<Type>; accountId: string | null };
}[WebhookEventType];
