import { z } from "zod";
import { Audience } from "../../../push/audience/audience";
import { AccountName, BundleId, DEFAULT_PER_SECOND, PerSecond } from "../schema";

const MAX_DATA_FIELDS = 20;
const MAX_TRANSLATIONS = 50;
/** APNs keeps a notification for 30 days at most (Apple, "Sending notification requests to APNs"). */
const MAX_TTL_SECONDS = 30 * 24 * 60 * 60;

/** A CFBundleShortVersionString (Apple, "Information Property List") or a semantic version. */
const Version = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+){0,3}(-[\dA-Za-z.-]+)?(\+[\dA-Za-z.-]+)?$/, "Must be a version such as 2.1.0");

const To = z.union([
  z.object({ account: AccountName }).strict(),
  z.object({ deviceId: z.uuid().toLowerCase().describe("One device, such as a test device.") }).strict(),
  z.object({ audience: Audience.describe("Every active device for which all of this is true. `{}`: all.") }).strict(),
]);
const Text = z.object({
  title: z.string().trim().min(1).max(200),
  body: z.string().trim().min(1).max(2_000),
});
const Name = z.string().min(1).max(64);

/** What the app reads from `data`, beside the fields that Homeport adds. */
const Data = z
  .record(
    z.string().regex(/^(?!(?:v|id|kind|link)$)[A-Za-z]\w{0,63}$/, "Must be a name other than v, id, kind and link"),
    z.string().max(1_000),
  )
  .refine((data) => Object.keys(data).length <= MAX_DATA_FIELDS, `Must have at most ${MAX_DATA_FIELDS} fields`)
  .describe("What the app reads from `data` of the notification.");

/** When and how a notification is sent. */
const Sending = {
  sendAt: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional()
    .describe("At most 90 days ahead. By default, and in the past: now."),
  perSecond: PerSecond.optional().describe(
    "How many devices of an audience are notified per second: 1,000 by default.",
  ),
  ttlSeconds: z.int().min(60).max(MAX_TTL_SECONDS).optional().describe("When it expires. By default, after a day."),
  collapseId: z
    .string()
    .regex(/^[!-~]{1,64}$/, "Must be at most 64 ASCII characters without spaces")
    .optional()
    .describe("`apns-collapse-id`: replaces the notification with the same one."),
};

/** What a notification says. */
export const CustomMessage = Text.extend({
  kind: z.literal("custom"),
  to: To,
  translations: z
    .record(
      z
        .string()
        .max(35)
        .regex(/^[A-Za-z]{2,8}(-[A-Za-z\d]{1,8})*$/, "Must be a language tag such as de-AT"),
      Text,
    )
    .refine((texts) => Object.keys(texts).length <= MAX_TRANSLATIONS, `Must be at most ${MAX_TRANSLATIONS}`)
    .transform((texts) => Object.fromEntries(Object.entries(texts).map(([tag, text]) => [tag.toLowerCase(), text])))
    .optional()
    .describe(
      "Texts by language tag. A device is sent that of its locale: `de-AT`, else `de`, else `title` and `body`.",
    ),
  data: Data.optional(),
  badge: z.int().min(0).max(99_999).optional(),
  category: Name.optional(),
  threadId: Name.optional().describe("`custom` by default."),
  sound: Name.nullish().describe("A sound of the app, `default` by default. null: none."),
  mutableContent: z.boolean().optional().describe("Lets the app's notification service extension change it."),
  relevanceScore: z.number().min(0).max(1).optional(),
  interruptionLevel: z.enum(["passive", "active", "time-sensitive"]).optional().describe("`active` by default."),
  ...Sending,
  link: z.string().trim().min(1).max(1_000).nullish().describe("What the app opens: `data.link` of the notification."),
});
export type CustomMessage = z.infer<typeof CustomMessage>;

/** A background notification: it wakes the app, which shows nothing. */
const BackgroundMessage = z.object({
  kind: z.literal("background"),
  to: To,
  data: Data.default({}),
  ...Sending,
});

/** What an operator writes. */
export type OperatorMessage = CustomMessage | z.infer<typeof BackgroundMessage>;

/** A version to announce. */
export const Announcement = z.object({
  kind: z.literal("app.new_version"),
  to: z
    .object({ bundleId: BundleId.nullish() })
    .strict()
    .default({})
    .describe("Every device, or every device of one app."),
  version: Version,
  perSecond: PerSecond.default(DEFAULT_PER_SECOND).describe("How many devices are notified per second."),
});
export type Announcement = z.infer<typeof Announcement>;

export const NewMessage = z.discriminatedUnion("kind", [CustomMessage, BackgroundMessage, Announcement]);
export type NewMessage = z.infer<typeof NewMessage>;
