import { z } from "zod";

const accountId = z.uuid();

/** What each type of event says: ids and states, never personal data. Fields are added, not changed or removed. */
const WebhookData = {
  "account.created": z.object({ accountId }),
  "account.deleted": z.object({ accountId }),
  "subscription.changed": z.object({
    accountId,
    status: z.string().describe("The status that `GET /api/subscription/status` returns."),
    previousStatus: z.string().describe("The status that the event before this one led to."),
    isActive: z.boolean().describe("Whether the account has access."),
    productId: z.string().nullable(),
    entitlements: z.array(z.string()).describe("The ids of the active entitlements."),
  }),
  "release.published": z.object({
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
  "push.device_verified": z.object({
    accountId,
    deviceId: z.uuid(),
    environment: z.enum(["production", "sandbox", "web"]),
    bundleId: z.string(),
  }),
} as const;

type PublishedBy = z.infer<(typeof WebhookData)["release.published"]>["publishedBy"];

/** The types that an endpoint can subscribe to. */
export const WebhookEventType = z.enum(Object.keys(WebhookData) as [SubscribableType, ...SubscribableType[]]);
type SubscribableType = keyof typeof WebhookData;
export type WebhookEventType = z.infer<typeof WebhookEventType>;

export function accountCreated(accountId: string): NewWebhookEvent {
  return { type: "account.created", data: { accountId }, accountId };
}

/** The event of a deleted account. It outlives the account. */
export function accountDeleted(accountId: string): NewWebhookEvent {
  return { type: "account.deleted", data: { accountId }, accountId: null };
}

/** The event of a release that clients can be offered from now on. */
export function releasePublished(releaseId: string, publishedBy: PublishedBy): NewWebhookEvent {
  const publisher = publishedBy && { type: publishedBy.type, id: publishedBy.id, source: publishedBy.source };
  return { type: "release.published", data: { releaseId, publishedBy: publisher }, accountId: null };
}

/** An event to announce. `accountId`: deleting that account deletes the event. */
export type NewWebhookEvent = {
  [Type in WebhookEventType]: { type: Type; data: z.infer<(typeof WebhookData)[Type]>; accountId: string | null };
}[WebhookEventType];
