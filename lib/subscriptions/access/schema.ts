import { z } from "zod";
import { StorableText } from "../../platform/storable";

const GIVING_ACCESS = [
  "subscription",
  "trial",
  "canceled_not_ended",
  "grace_period",
  "renewal_awaited",
  "lifetime",
  "grant",
] as const;

/** Why an account has access, or has not. A list of reasons is in this order. */
export const AccessReasonCode = z.enum([
  "account_disabled",
  ...GIVING_ACCESS,
  "entitlement_unknown",
  "event_failed",
  "event_waiting",
  "mapping_changed",
  "product_without_entitlement",
  "sandbox",
  "environment_unknown",
  "provider_silent",
  "provider_not_configured",
  "deliveries_lost",
  "provider_unreachable",
  "other_account",
  "without_account",
  "payment_failed",
  "paused",
  "refunded",
  "grant_ended",
  "expired",
  "replaced",
  "other_entitlement",
  "no_event",
  "no_purchase",
  "no_deliveries",
  "unlinked_purchases",
]);
export type AccessReasonCode = z.infer<typeof AccessReasonCode>;
/** Those that give access. */
export const ACCESS_CODES: ReadonlySet<AccessReasonCode> = new Set(GIVING_ACCESS);

const AccessAction = z.object({
  text: z.string().describe("What to do, in English."),
  path: z.string().nullable().describe("The path of the console's page for it, or the URL of the store's."),
  command: z.string().nullable().describe("The command that does it or shows it."),
  role: z.enum(["support", "admin"]).describe("The least role that may do it."),
});
export type AccessAction = z.infer<typeof AccessAction>;

export const AccessReason = z.object({
  code: AccessReasonCode,
  text: z.string().describe("The reason in English. Times are in UTC."),
  purchaseId: z.uuid().nullable(),
  eventId: z.uuid().nullable().describe("The event in the inbox."),
  accountId: z.uuid().nullable().describe("Of `other_account`: the account that has the purchase."),
  actions: z.array(AccessAction),
});
export type AccessReason = z.infer<typeof AccessReason>;

export const AccessQuery = z.object({
  entitlement: StorableText.trim()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: "The id of an entitlement. Without it: any.", examples: ["pro"] }),
});
export type AccessQuery = z.infer<typeof AccessQuery>;

/** Whether an account has access, and why. */
export const AccessExplanation = z.object({
  accountId: z.uuid(),
  email: z.string(),
  entitlementId: z.string().nullable().describe("The entitlement that was asked about. null: any."),
  hasAccess: z
    .boolean()
    .describe("Whether the account has the entitlement; without one, `isActive` of its subscription status."),
  text: z.string().describe("The answer in English."),
  reasons: z
    .array(AccessReason)
    .describe("20 at most, those that tell most first. With access, what gives it, and what is wrong nevertheless."),
  appUserIds: z.array(z.string()).describe("The ids by which events may name the account: its own and old ones."),
  lastEventAt: z.date().nullable().describe("When the last event that names the account was received."),
  checkedAt: z.date(),
});
export type AccessExplanation = z.infer<typeof AccessExplanation>;
