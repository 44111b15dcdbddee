import { z } from "zod";
import { ImportedPassword } from "../../auth/passwords/imported-hash";
import { PROVIDER_NAMES } from "../../auth/sign-in-providers/providers";
import { Email } from "../../platform/email";
import { LOCALES } from "../../platform/locale";
import { Time } from "../../platform/storable";
import { isPseudonym } from "../../subscriptions/app-user-ids";
import { Register } from "../schema";

export const MAX_RECORDS = 1_000;
export const MAX_IMPORT_BYTES = 8 * 1024 * 1024;

/** An id in the old system, or of the billing provider. */
const OldId = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .refine((id) => !isPseudonym(id), "Must not be the pseudonym of a deleted account");

/** A customer of another system. Only the email is required. */
export const AccountRecord = z
  .strictObject({
    email: Email.optional().describe("Required, unless `externalId` is that of an account that was imported before."),
    emailVerified: z
      .union([z.boolean(), Time])
      .default(false)
      .describe("Whether, or when, the owner has shown that the email is theirs."),
    name: Register.shape.name,
    locale: z.enum(LOCALES).optional(),
    createdAt: Time.optional(),
    externalId: OldId.optional().describe(
      "The account's id in the old system. Billing events that name it belong to the account.",
    ),
    appUserIds: z
      .array(OldId)
      .max(50)
      .default([])
      .describe("What the billing provider calls this customer. Events that name one of them belong to the account."),
    password: ImportedPassword.optional(),
    identities: z
      .array(
        z.strictObject({ provider: z.enum(PROVIDER_NAMES), subject: OldId, email: z.string().max(254).optional() }),
      )
      .max(10)
      .default([])
      .describe("`subject` is the `sub` of the provider's ID token, or GitHub's user id."),
    totp: z
      .strictObject({ secret: z.string().regex(/^[A-Za-z2-7]{16,128}=*$/) })
      .optional()
      .describe("An authenticator app with SHA-1, six digits and 30 seconds: its secret in Base32."),
    disabled: z.boolean().default(false),
  })
  .meta({ id: "AccountRecord" });
export type AccountRecord = z.infer<typeof AccountRecord>;

export const ImportQuery = z.object({
  onConflict: z
    .enum(["skip", "update", "fail"])
    .default("skip")
    .describe("What happens to a record whose account exists and differs: it is left, changed, or refused."),
  dryRun: z.stringbool().default(false).describe("Only reports what an import would do."),
  notify: z
    .stringbool()
    .default(false)
    .describe(
      "Sends `account.created` to webhook endpoints, and an invitation to each new account without a password or an identity.",
    ),
});
export type ImportQuery = z.infer<typeof ImportQuery>;

/** The outcome of one record. `field` is the pointer to what is wrong with it. */
export const ImportResult = z.object({
  line: z.int(),
  status: z.enum(["created", "updated", "unchanged", "skipped", "refused"]),
  accountId: z.uuid().optional(),
  code: z.string().optional(),
  field: z.string().optional(),
  detail: z.string().optional(),
});
export type ImportResult = z.infer<typeof ImportResult>;
export const ImportResults = z.object({ results: z.array(ImportResult) });
