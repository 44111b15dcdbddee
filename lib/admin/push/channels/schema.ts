import { z } from "zod";
import { Content, DismissalDate } from "../messages/live-activities";
import { BundleId } from "../schema";

/** APNs stores the most recent message for at most eight hours. */
const MAX_TTL_SECONDS = 8 * 60 * 60;

const app = {
  environment: z.enum(["production", "sandbox"]).default("production").describe("The APNs environment."),
  bundleId: BundleId.optional().describe("A configured bundle ID. Defaults to the first one."),
};
const messageStoragePolicy = z
  .enum(["none", "most_recent"])
  .describe(
    "`most_recent`: a device that was offline gets the last message, if it has not expired. `none`: more messages may be sent.",
  );

export const ChannelApp = z.object(app);
export type ChannelApp = z.infer<typeof ChannelApp>;
export const ChannelParams = z.object({
  channelId: z
    .string()
    .regex(/^[\w-]{1,512}$/, "Must be base64url")
    .describe("The `id` of a channel."),
});
export type ChannelParams = z.infer<typeof ChannelParams>;
export const NewChannel = z.strictObject({ ...app, messageStoragePolicy });
export type NewChannel = z.infer<typeof NewChannel>;

const ids = {
  id: z.string().describe("`channelId` in base64url, as paths have it."),
  channelId: z.string().describe("The id for ActivityKit: `pushType: .channel(channelId)`."),
};
const shownApp = { environment: z.enum(["production", "sandbox"]), bundleId: z.string() };
export const Channel = z.object({ ...ids, ...shownApp, messageStoragePolicy });
export type Channel = z.infer<typeof Channel>;
export const Channels = z.object({ ...shownApp, channels: z.array(z.object(ids)) });
export type Channels = z.infer<typeof Channels>;

const broadcast = {
  ...app,
  ...Content,
  ttlSeconds: z
    .int()
    .min(0)
    .max(MAX_TTL_SECONDS)
    .default(0)
    .describe("How long APNs stores it. 0: not at all. More needs a channel whose policy is `most_recent`."),
};

/** A notification for all Live Activities that subscribe to a channel. */
export const NewBroadcast = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("update"), ...broadcast }),
  z.strictObject({
    event: z.literal("end"),
    ...broadcast,
    contentState: Content.contentState.optional().describe("What they show last. By default, what they show."),
    dismissalDate: DismissalDate,
  }),
]);
export type NewBroadcast = z.infer<typeof NewBroadcast>;
export const Broadcast = z.object({
  channelId: z.string(),
  sentAt: z
    .date()
    .describe("The `timestamp` of the notification: ActivityKit ignores one that is older than what is shown."),
});
export type Broadcast = z.infer<typeof Broadcast>;
