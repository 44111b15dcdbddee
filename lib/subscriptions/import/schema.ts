import { z } from "zod";
import { NextCursor } from "../../platform/lists";
import { Time } from "../../platform/storable";
import { BatchCursor } from "../admin/event-batches";
import { WebhookQuery } from "../schema";

export const SOURCES = ["revenuecat", "stripe", "paddle", "app-store", "csv"] as const;
/** The sources that know a customer's email. */
export const SOURCES_WITH_EMAIL: readonly string[] = ["stripe", "paddle", "csv"] satisfies (typeof SOURCES)[number][];

export const MAX_IMPORT_LINES = 500;
export const MAX_IMPORT_BYTES = 1024 * 1024;

/** Where an import of a source continues: after an id, an account or a line. */
export const ImportPosition = z.object({ after: z.union([z.string().min(1).max(255), z.int().min(1)]) });
export type ImportPosition = z.infer<typeof ImportPosition>;

export const PurchaseImportQuery = z.object({
  from: z.enum(SOURCES),
  match: z
    .enum(["id", "email"])
    .default("id")
    .describe(
      "How a purchase finds its account. `email`: by the customer's email at Stripe, Paddle or in the table, too, if no id names an account, and only an account whose email is verified.",
    ),
  dryRun: z.stringbool().default(false).describe("Only reports what an import would do."),
  cursor: BatchCursor.pipe(ImportPosition).optional().describe("`nextCursor` of the request before."),
});
export type PurchaseImportQuery = z.infer<typeof PurchaseImportQuery>;

const Id = z.string().trim().min(1).max(255);

/** A customer whom RevenueCat is asked about: an App User ID. */
export const CustomerRecord = z.strictObject({ appUserId: Id });
/** A customer whom Apple is asked about: any transaction, and who the customer is, if the app has not told Apple. */
export const TransactionRecord = z.strictObject({
  transactionId: z
    .string()
    .trim()
    .regex(/^\d{1,64}$/, "Must be a transaction's id"),
  customer: Id.optional(),
});

/** A purchase of a table. */
export const PurchaseRecord = z
  .strictObject({
    transactionId: Id.describe(
      "What the provider's events call the purchase: the original transaction, or the subscription's id.",
    ),
    provider: WebhookQuery.shape.provider.describe("Whose events continue the purchase. Default: `BILLING_PROVIDER`."),
    store: z
      .string()
      .regex(/^[A-Z_]{1,64}$/, "Must be a store such as APP_STORE")
      .optional()
      .describe("Such as `PLAY_STORE`. Stripe, Paddle and the App Store need none."),
    environment: z.enum(["PRODUCTION", "SANDBOX"]).default("PRODUCTION"),
    customer: Id.optional().describe("The account's id, its id in the old system, or an App User ID."),
    email: z.string().trim().max(254).optional().describe("For `match=email`."),
    productId: Id,
    entitlementIds: z
      .array(Id)
      .max(100)
      .optional()
      .describe("Default: what `BILLING_PRODUCTS` says of the product, else none."),
    isSubscription: z.boolean().optional().describe("Default: whether `expiresAt` is set."),
    isTrial: z.boolean().default(false),
    startedAt: Time.optional(),
    purchasedAt: Time.describe("The start of the current period."),
    expiresAt: Time.optional().describe("The end of the current period. A one-time purchase may have none."),
    willRenew: z.boolean().default(true),
    refundedAt: Time.optional(),
    asOf: Time.optional().describe("When the table was made: newer events win. Default: the time of the request."),
  })
  .meta({ id: "PurchaseRecord" });
export type PurchaseRecord = z.infer<typeof PurchaseRecord>;

/** A line of a body, by its source: a purchase for `csv`, a transaction for `app-store`, a customer for `revenuecat`. */
export const ImportRecord = z.union([PurchaseRecord, TransactionRecord, CustomerRecord]);

const Change = z.object({ field: z.string(), before: z.unknown(), after: z.unknown() });

export const ImportedPurchase = z.object({
  line: z.int().nullable().describe("Of the body. null: the purchase is from a list of the provider."),
  status: z
    .enum(["created", "updated", "unchanged", "ignored", "failed"])
    .describe(
      "`updated`: what was stored differed. `ignored`: nothing was bought yet. `failed`: see `failure`; it stops no other.",
    ),
  id: z.string().nullable().describe("The provider's id of the purchase: its original transaction."),
  customer: z.string().nullable().describe("The provider's id of the customer."),
  store: z.string().nullable(),
  productId: z.string().nullable(),
  accountId: z.uuid().nullable().describe("null: no account matches. The purchase waits for its account."),
  differences: z.array(Change).describe("How what was stored differed."),
  failure: z.string().nullable(),
});
export type ImportedPurchase = z.infer<typeof ImportedPurchase>;

export const ImportedPurchases = z.object({
  results: z.array(ImportedPurchase),
  retry: z
    .object({ afterSeconds: z.number(), reason: z.string() })
    .nullable()
    .describe("The provider limits requests, or fails: how long to wait before the next request."),
  nextCursor: NextCursor.describe(
    "The `cursor` of the next request, with the same body. null: all of the source, or of the body, was read; with `retry`: the same request again.",
  ),
});
export type ImportedPurchases = z.infer<typeof ImportedPurchases>;
