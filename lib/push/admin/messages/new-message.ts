import { z } from "zod";
import { AnnouncedVersion, BundleId, DEFAULT_PER_SECOND, PerSecond } from "../schema";
import { EndLiveActivity, StartLiveActivity, UpdateLiveActivity } from "./live-activities";
import { Name, Sending, To, ToAudience } from "./sending";

const MAX_DATA_FIELDS = 20;
const MAX_TRANSLATIONS = 50;

const Text = z.strictObject({ title: z.string().trim().min(1).max(200), body: z.string().trim().min(1).max(2_000) });

/** What the app reads from `data`, beside the fields that Homeport adds. */
const Data = z
  .record(
    z.string().regex(/^(?!(?:v|id|kind|link)$)[A-Za-z]\w{0,63}$/, "Must be a name other than v, id, kind and link"),
    z.string().max(1_000),
  )
  .refine((data) => Object.keys(data).length <= MAX_DATA_FIELDS, `Must have at most ${MAX_DATA_FIELDS} fields`)
  .describe("What the app reads from `data` of the notification.");

const collapseId = z
  .string()
  .regex(/^[!-~]{1,64}$/, "Must be at most 64 ASCII characters without spaces")
  .optional()
  .describe("`apns-collapse-id`: replaces the notification with the same one.");

/** The content of a notification. */
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
  collapseId,
  link: z.string().trim().min(1).max(1_000).nullish().describe("What the app opens: `data.link` of the notification."),
});
export type CustomMessage = z.infer<typeof CustomMessage>;

/** A background notification: it wakes the app, which shows nothing. */
const BackgroundMessage = z.strictObject({
  kind: z.literal("background"),
  to: To,
  data: Data.default({}),
  ...Sending,
  collapseId,
});

/** A message that an operator writes. */
export type OperatorMessage =
  | CustomMessage
  | z.infer<typeof BackgroundMessage>
  | z.infer<typeof StartLiveActivity>
  | z.infer<typeof UpdateLiveActivity>
  | z.infer<typeof EndLiveActivity>;

/** A version to announce. */
export const Announcement = z.strictObject({
  kind: z.literal("app.new_version"),
  to: z
    .union([z.object({ bundleId: BundleId.nullish() }).strict(), ToAudience])
    .default({})
    .describe("Every device, every device of one app, or an audience."),
  version: AnnouncedVersion,
  sendAt: Sending.sendAt,
  perSecond: PerSecond.default(DEFAULT_PER_SECOND).describe("How many devices are notified per second."),
});
export type Announcement = z.infer<typeof Announcement>;

export const NewMessage = z.discriminatedUnion("kind", [
  CustomMessage,
  BackgroundMessage,
  StartLiveActivity,
  UpdateLiveActivity,
  EndLiveActivity,
  Announcement,
]);
export type NewMessage = z.infer<typeof NewMessage>;
