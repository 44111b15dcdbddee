import { z } from "zod";
import { isStorableJson, Time } from "../../../platform/storable";
import { ActivityId, AttributesType } from "../../live-activities/schema";
import { Name, Sending, To } from "./sending";

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
const DismissalDate = Time.optional().describe(
  "When it disappears from the Lock Screen. In the past: at once. By default, up to four hours later.",
);
/** Starts a Live Activity on devices that have registered a token for its type. */
export const StartLiveActivity = z.strictObject({
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
export const UpdateLiveActivity = z.strictObject({
  kind: z.literal("live_activity.update"),
  to: To,
  activityId: ActivityId,
  ...Content,
  ...Sending,
});

/** Ends a Live Activity. */
export const EndLiveActivity = z.strictObject({
  kind: z.literal("live_activity.end"),
  to: To,
  activityId: ActivityId,
  ...Content,
  contentState: Content.contentState.optional().describe("What it shows last. By default, what it shows."),
  dismissalDate: DismissalDate,
  ...Sending,
});
