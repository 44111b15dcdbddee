import { z } from "zod";
import { AccountName } from "../../platform/find-account";
import { isStorableJson, Time } from "../../platform/storable";
import { Audience } from "../audience";
import { ActivityId, AttributesType } from "../schema";
import { AnnouncedVersion, BundleId, DEFAULT_PER_SECOND, PerSecond } from "./schema";

/** APNs keeps a notification for 30 days at most (Apple, "Sending notification requests to APNs"). */
const MAX_TTL_SECONDS = 30 * 24 * 60 * 60;

const Name = z.string().min(1).max(64);

const ToAudience = z.strictObject({
  audience: Audience.describe("Every active device for which all of this is true. `{}`: all."),
});

/** The recipients of a notification. */
const To = z.union([
  z.strictObject({ account: AccountName }),
  z.strictObject({ deviceId: z.uuid().toLowerCase().describe("One device, such as a test device.") }),
  ToAudience,
]);

/** When and how a notification is sent. */
const Sending = {
  sendAt: Time.optional().describe("At most 90 days ahead. By default, and in the past: now."),
  perSecond: PerSecond.optional().describe(
    "How many devices of an audience are notified per second: 1,000 by default.",
  ),
  ttlSeconds: z
    .int()
    .min(60)
    .max(MAX_TTL_SECONDS)
    .optional()
    .describe("When it expires. By default, after a day; for a Live Activity, after eight hours."),
};

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

/** A background notification: it wakes the app, which shows nothing. */
const BackgroundMessage = z.strictObject({
  kind: z.literal("background"),
  to: To,
  data: Data.default({}),
  ...Sending,
  collapseId,
});

const JsonObject = z
  .record(z.string(), z.unknown())
  .refine(isStorableJson, "Must not have characters that cannot be stored");

const Alert = z.strictObject({
  title: z.string().trim().min(1).max(200),
  body: z.string().trim().min(1).max(1_000),
  sound: Name.optional().describe("A sound of the app."),
});

/** What a Live Activity shows. */
const Content = {
  contentState: JsonObject.describe("The whole state, as the app's `ContentState` decodes it from JSON."),
  staleDate: Time.optional().describe("When the state counts as out of date."),
  relevanceScore: z.number().min(0).optional().describe("Which of the app's Live Activities is shown first."),
  alert: Alert.optional().describe("Lights up the screen with a text."),
  priority: z
    .union([z.literal(5), z.literal(10)])
    .optional()
    .describe("`apns-priority`: 10 by default. iOS limits how many of priority 10 it accepts an hour."),
};

/** Starts a Live Activity on devices that have registered a token for its type. */
const StartLiveActivity = z.strictObject({
  kind: z.literal("live_activity.start"),
  to: To,
  attributesType: AttributesType,
  attributes: JsonObject.describe("The part that does not change, as the app's `ActivityAttributes` decodes it."),
  ...Content,
  alert: Alert.describe("Says that the Live Activity has begun."),
  inputPushToken: z.boolean().optional().describe("Asks ActivityKit for a token that updates it (iOS 18)."),
  ...Sending,
});

/** Replaces what a Live Activity shows. */
const UpdateLiveActivity = z.strictObject({
  kind: z.literal("live_activity.update"),
  to: To,
  activityId: ActivityId,
  ...Content,
  ...Sending,
});

const EndLiveActivity = z.strictObject({
  kind: z.literal("live_activity.end"),
  to: To,
  activityId: ActivityId,
  ...Content,
  contentState: Content.contentState.optional().describe("What it shows last. By default, what it shows."),
  dismissalDate: Time.optional().describe(
    "When it disappears from the Lock Screen. In the past: at once. By default, up to four hours later.",
  ),
  ...Sending,
});

const OperatorMessage = z.discriminatedUnion("kind", [
  CustomMessage,
  BackgroundMessage,
  StartLiveActivity,
  UpdateLiveActivity,
  EndLiveActivity,
]);
export type OperatorMessage = z.infer<typeof OperatorMessage>;

/** A version to announce. */
export const Announcement = z.strictObject({
  kind: z.literal("app.new_version"),
  to: z
    .union([z.strictObject({ bundleId: BundleId.nullish() }), ToAudience])
    .default({})
    .describe("Every device, every device of one app, or an audience."),
  version: AnnouncedVersion,
  sendAt: Sending.sendAt,
  perSecond: PerSecond.default(DEFAULT_PER_SECOND).describe("How many devices are notified per second."),
});
export type Announcement = z.infer<typeof Announcement>;

export const NewMessage = z.discriminatedUnion("kind", [...OperatorMessage.options, Announcement]);
