import { z } from "zod";
import { Reason } from "../../platform/audit/schema";
import { AccountName } from "../../platform/find-account";
import { NextCursor, PageQuery } from "../../platform/lists";
import { StorableText, Time } from "../../platform/storable";

const MAX_DAYS = 36_500;
/** The emails of one request. */
export const MAX_GRANT_EMAILS = 200;

const EntitlementId = StorableText.trim()
  .min(1)
  .max(255)
  .meta({ description: "The id of the entitlement, as apps check it.", examples: ["pro"] });

const AccountId = z.uuid().toLowerCase();

/** What is granted, for how long, and why. */
const Terms = z.strictObject({
  entitlementId: EntitlementId,
  until: Time.optional().describe("When the grant ends. Send either this, `days` or `isLifetime`."),
  days: z.int().min(1).max(MAX_DAYS).optional().describe("The grant ends after so many days of 24 hours."),
  isLifetime: z.literal(true).optional().describe("The grant does not end."),
  reason: Reason,
});
export type Terms = z.infer<typeof Terms>;

export const NewGrant = Terms.extend({
  accountId: AccountId,
  key: StorableText.min(1).max(100).optional().describe("Grants to an account with the same key are one: the first."),
});
export type NewGrant = z.infer<typeof NewGrant>;

export const BatchGrant = Terms.extend({
  emails: z.array(StorableText.max(320)).min(1).max(MAX_GRANT_EMAILS).describe("The emails of accounts."),
  isDryRun: z.boolean().default(false).describe("`true` changes nothing."),
});
export type BatchGrant = z.infer<typeof BatchGrant>;

export const BatchGrantResults = z.object({
  results: z
    .array(
      z.object({
        email: z.string(),
        status: z
          .enum(["granted", "unchanged", "unknown_account"])
          .describe("`unchanged`: the account got this grant before."),
      }),
    )
    .describe("In the order of `emails`."),
});
export type BatchGrantResults = z.infer<typeof BatchGrantResults>;

/** Fields of the console's form. */
export const GrantForm = NewGrant.pick({ accountId: true, entitlementId: true, until: true, reason: true })
  .extend({ term: z.enum(["7", "14", "30", "90", "365", "until", "lifetime"]), key: z.uuid() })
  .refine(({ term, until }) => term !== "until" || until !== undefined, { path: ["until"], error: "Required" });
export type GrantForm = z.infer<typeof GrantForm>;

const GrantOperator = z.object({
  actor: z.string().describe("`account:ID`, `key:ID`, `operator:NAME` or `operator`."),
  name: z.string().nullable().describe("The operator's email, or the key's name. null: neither is known."),
  at: z.date(),
  reason: z.string().nullable(),
});

/** An entitlement that an operator granted. */
export const Grant = z.object({
  id: z.uuid().describe("The id of the purchase that the grant is."),
  accountId: z.uuid(),
  entitlementId: z.string(),
  isActive: z.boolean(),
  endsAt: z.date().nullable().describe("When it ends, or has ended. null: it does not end."),
  granted: GrantOperator,
  ended: GrantOperator.nullable().describe("Who ended it before its time. null: nobody."),
});
export type Grant = z.infer<typeof Grant>;

export const GrantChange = z.object({
  grant: Grant,
  isChanged: z.boolean().describe("false: it was granted, or had ended, before."),
});
export type GrantChange = z.infer<typeof GrantChange>;

export const GrantsQuery = PageQuery.extend({ account: AccountName });
export type GrantsQuery = z.infer<typeof GrantsQuery>;

export const Grants = z.object({ grants: z.array(Grant), nextCursor: NextCursor });
export type Grants = z.infer<typeof Grants>;
