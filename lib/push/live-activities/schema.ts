import { z } from "zod";
import type { LiveActivity as LiveActivityRow, LiveActivityStartToken } from "../../platform/db/generated/client";
import { ApnsToken, tokenSuffix } from "../schema";

/** A name of the app's own. It begins with a letter or digit, so that it is no dot segment of a path. */
export const ActivityId = z
  .string()
  .regex(/^[A-Za-z\d][\w.:-]{0,63}$/, "Must be 1 to 64 letters, digits, and . _ : -")
  .describe(
    "The app's name for the activity: ActivityKit's `Activity.id`, or one that your server knows, such as an order's.",
  );

/** The name of a Swift type. */
export const AttributesType = z
  .string()
  .regex(/^[A-Za-z_][\w.]{0,99}$/, "Must be the name of a Swift type")
  .describe("The name of the app's type that conforms to `ActivityAttributes`.");

const token = ApnsToken.describe("The push token from ActivityKit, in hexadecimal.");
const deviceId = z.string().describe("The `id` of a device.");

export const LiveActivityParams = z.object({ deviceId, activityId: ActivityId });
export type LiveActivityParams = z.infer<typeof LiveActivityParams>;
export const RegisterLiveActivity = z.object({ attributesType: AttributesType, token });
export type RegisterLiveActivity = z.infer<typeof RegisterLiveActivity>;

export const StartTokenParams = z.object({ deviceId, attributesType: AttributesType });
export type StartTokenParams = z.infer<typeof StartTokenParams>;
export const RegisterStartToken = z.object({ token });
export type RegisterStartToken = z.infer<typeof RegisterStartToken>;

const shown = { attributesType: z.string(), tokenSuffix: z.string().length(4), registeredAt: z.date() };
export const LiveActivity = z.object({ activityId: z.string(), ...shown });
export type LiveActivity = z.infer<typeof LiveActivity>;
export const StartToken = z.object(shown);
export type StartToken = z.infer<typeof StartToken>;
export const LiveActivities = z.object({
  liveActivities: z.array(LiveActivity),
  startTokens: z.array(StartToken).describe("The types of Live Activities that can be started on the device."),
});
export type LiveActivities = z.infer<typeof LiveActivities>;

/** A Live Activity as its device's owner sees it. */
export function toLiveActivity({ activityId, ...row }: LiveActivityRow): LiveActivity {
  return { activityId, ...toStartToken(row) };
}

/** A push-to-start token as its device's owner sees it. */
export function toStartToken({
  attributesType,
  token,
  registeredAt,
}: Omit<LiveActivityStartToken, "deviceId">): StartToken {
  return { attributesType, tokenSuffix: tokenSuffix(token), registeredAt };
}
