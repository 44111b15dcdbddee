import { z } from "zod";
import { Factors } from "../../auth/second-factor/schema";
import { PROVIDER_NAMES } from "../../auth/sign-in-providers/providers";
import { Reason } from "../../platform/audit/schema";
import { Email } from "../../platform/email";
import { NextCursor, PageQuery } from "../../platform/lists";
import { LOCALES } from "../../platform/locale";
import { Time as FromTime, StorableText } from "../../platform/storable";
import { PurchaseStatus } from "../../subscriptions/schema";
import { AccountDeleted, Register } from "../schema";

export const MAX_QUERY_LENGTH = 254;
const Time = z.date().nullable();

export const Role = z.enum(["user", "support", "admin"]);
const AccountState = z.enum(["active", "disabled", "unverified", "consent_withdrawn"]);

export const AccountsQuery = PageQuery.extend({
  query: StorableText.max(MAX_QUERY_LENGTH)
    .optional()
    .meta({
      description:
        "The beginning of an email or a name, case-insensitive, or a complete account id, id in the system that the account was imported from, or App User ID of the billing provider.",
      examples: ["ann@example"],
    }),
  externalId: StorableText.max(MAX_QUERY_LENGTH)
    .optional()
    .describe("Only the account with this id in the system that it was imported from."),
  role: Role.optional().describe("Only accounts with this role."),
  state: AccountState.optional().describe(
    "Only accounts in this state. `active`: not disabled. `unverified`: with an email that is not verified. `consent_withdrawn`: a parent has withdrawn the consent.",
  ),
  createdFrom: FromTime.optional().describe("Only accounts that were created at this time or later."),
  seenFrom: FromTime.optional().describe(
    "Only accounts with a session that was used at this time or later, and has not expired. A request searches at most 10,000 accounts, so a page may be short or empty while `nextCursor` is not null.",
  ),
});
export type AccountsQuery = z.infer<typeof AccountsQuery>;

export const AccountParams = z.object({ accountId: z.uuid().toLowerCase() });
export const SessionParams = AccountParams.extend({ sessionId: z.uuid().toLowerCase() });

/** A change that takes nothing but a reason. */
export const WithReason = z.strictObject({ reason: Reason.optional() });
export type WithReason = z.infer<typeof WithReason>;
export const NewRole = WithReason.extend({ role: Role });
export type NewRole = z.infer<typeof NewRole>;
export const UnlinkedProvider = WithReason.extend({ provider: z.enum(PROVIDER_NAMES) });
export type UnlinkedProvider = z.infer<typeof UnlinkedProvider>;

export const AccountSummary = z.object({
  id: z.uuid(),
  email: z.string(),
  emailVerifiedAt: Time,
  name: z.string().nullable(),
  role: Role,
  disabledAt: Time.describe("null: its owner can sign in."),
  consentWithdrawnAt: Time.describe("When a parent withdrew the consent to a child's use of the app."),
  emailProblem: z
    .string()
    .nullable()
    .describe(
      "Why emails do not reach its owner: they `bounced`, the owner has `complained` of spam, or Apple has `forwarding_off`. null: no reason is known.",
    ),
  createdAt: z.date(),
});
export type AccountSummary = z.infer<typeof AccountSummary>;

export const Accounts = z.object({ accounts: z.array(AccountSummary), nextCursor: NextCursor });
export type Accounts = z.infer<typeof Accounts>;

/** An event of an account in the audit trail. */
const AccountEvent = z.object({
  id: z.uuid(),
  type: z.string(),
  at: z.date(),
  actor: z
    .string()
    .describe(
      "`account`, its owner; or an operator: `account:ID`, `key:ID`, `operator:NAME`, `operator`; or `service`.",
    ),
  target: z.string().nullable(),
  network: z.string().nullable().describe("From which network: /24 for IPv4, /64 for IPv6."),
  userAgent: z.string().nullable(),
  details: z.unknown().describe("Further details that depend on the type, such as `from`, `to` and `reason`."),
});

export const AccountEvents = z.object({ events: z.array(AccountEvent), nextCursor: NextCursor });
export type AccountEvents = z.infer<typeof AccountEvents>;

const Session = z.object({
  id: z.uuid(),
  transport: z.enum(["cookie", "token"]),
  userAgent: z.string().nullable(),
  deviceName: z.string().nullable(),
  createdAt: z.date(),
  authenticatedAt: z.date(),
  aal: z.int(),
  amr: z.array(z.string()),
  lastSeenAt: z.date(),
  idleExpiresAt: z.date(),
  expiresAt: z.date(),
});

const Device = z.object({
  id: z.uuid(),
  name: z.string().nullable(),
  model: z.string().nullable(),
  osVersion: z.string().nullable(),
  appVersion: z.string().nullable(),
  bundleId: z.string(),
  environment: z.enum(["production", "sandbox", "web"]),
  status: z.enum(["pending", "active", "invalid"]),
  invalidReason: z.string().nullable(),
  createdAt: z.date(),
  lastSeenAt: z.date(),
  lastDeliveredAt: Time,
  receipt: z
    .object({
      riskMetric: z
        .int()
        .nullable()
        .describe("About how many keys of the app the device has attested in 30 days. null: not known."),
      riskMetricAt: Time,
    })
    .nullable()
    .describe("What Apple's App Attest says of the device. null: it has no attested key."),
});

const PurchaseEvent = z.object({
  id: z.uuid(),
  eventId: z.string().describe("The provider's id."),
  type: z.string(),
  state: z.enum(["received", "processed", "ignored", "failed"]),
  reason: z.string().nullable(),
  occurredAt: z.date(),
  receivedAt: z.date(),
});

/** A purchase with its renewals, its status now, and the events that it results from. */
export const AccountPurchase = PurchaseStatus.pick({
  status: true,
  isActive: true,
  entitlements: true,
  willRenew: true,
  productId: true,
  store: true,
  environment: true,
  startedAt: true,
  currentPeriodEndsAt: true,
  accessEndsAt: true,
  managementUrl: true,
}).extend({
  id: z.uuid(),
  provider: z.string().describe("`homeport`: an operator granted it."),
  originalTransactionId: z.string(),
  appUserIds: z.array(z.string()),
  endedAt: Time,
  events: z.array(PurchaseEvent).describe("The newest 100, newest first."),
});
export type AccountPurchase = z.infer<typeof AccountPurchase>;

export const Invitation = z.object({
  createdAt: z.date(),
  expiresAt: z.date().describe("Until when the emailed link works, once."),
});
export type Invitation = z.infer<typeof Invitation>;

export const NewAccount = z.strictObject({
  email: Email,
  name: Register.shape.name,
  locale: z.enum(LOCALES).optional().describe("The language of its emails."),
  invite: z.boolean().optional().describe("Whether to email its owner a link that sets a password or a passkey."),
});
export type NewAccount = z.infer<typeof NewAccount>;

/** An account without a password, and its invitation. */
export const InvitedAccount = z.object({ account: AccountSummary, invitation: Invitation.nullable() });
export type InvitedAccount = z.infer<typeof InvitedAccount>;

export const HandedCode = z.object({
  account: AccountSummary,
  recoveryCode: z.string().describe("Give it to the owner by another way than email. It is shown only once."),
  expiresAt: z.date(),
});

/** An account with everything that support needs, and nothing secret. */
export const AccountDetails = AccountSummary.extend({
  image: z.string().nullable(),
  locale: z.string().nullable(),
  externalId: z.string().nullable().describe("The id in the system that the account was imported from."),
  sandboxUntil: z.date().nullable().describe("Until when purchases outside of production give it access."),
  updatedAt: z.date(),
  hasPassword: z.boolean(),
  invitation: Invitation.nullable().describe("null: there is none whose link works."),
  identities: z.array(z.object({ id: z.uuid(), provider: z.string(), subject: z.string(), createdAt: z.date() })),
  sessions: z.array(Session).describe("The live ones, newest first."),
  devices: z.array(Device).describe("Newest first."),
  subscription: PurchaseStatus.pick({ status: true, isActive: true, productId: true, store: true, accessEndsAt: true }),
  purchases: z.array(AccountPurchase),
  factors: Factors,
  securityEvents: z.array(AccountEvent).describe("The newest 50, newest first."),
});
export type AccountDetails = z.infer<typeof AccountDetails>;

/** The account after a change, and what the change ended. */
export const AccountChange = z.object({
  account: AccountSummary,
  isChanged: z.boolean().describe("false: the account already had this state."),
  sessionsEnded: z.int().describe("Live sessions that the change ended."),
  devicesRemoved: z.int().describe("Devices that no longer receive notifications."),
});
export type AccountChange = z.infer<typeof AccountChange>;

export const DeletedAccount = AccountDeleted.extend({ id: z.uuid(), email: z.string() });
export type DeletedAccount = z.infer<typeof DeletedAccount>;

/** The account without the provider, and how many of its identities were removed. */
export const ProviderChange = AccountChange.extend({ identitiesRemoved: z.int() });
export type ProviderChange = z.infer<typeof ProviderChange>;

/** The account with its role, and the one that it had before. */
export const RoleChange = AccountChange.extend({ previousRole: Role });
export type RoleChange = z.infer<typeof RoleChange>;

export const FirstOperatorLink = z.object({
  url: z.string().describe("The page of the service, with a secret in its fragment."),
  ttlSeconds: z.int().describe("How long the link works."),
});
export type FirstOperatorLink = z.infer<typeof FirstOperatorLink>;
