import { z } from "zod";
import { AccountName } from "../../../platform/find-account";
import { Time } from "../../../platform/storable";
import { Audience } from "../../audience/audience";
import { PerSecond } from "../schema";

/** APNs keeps a notification for 30 days at most (Apple, "Sending notification requests to APNs"). */
const MAX_TTL_SECONDS = 30 * 24 * 60 * 60;

export const Name = z.string().min(1).max(64);

export const ToAudience = z
  .object({ audience: Audience.describe("Every active device for which all of this is true. `{}`: all.") })
  .strict();

/** The recipients of a notification. */
export const To = z.union([
  z.object({ account: AccountName }).strict(),
  z.object({ deviceId: z.uuid().toLowerCase().describe("One device, such as a test device.") }).strict(),
  ToAudience,
]);

/** When and how a notification is sent. */
export const Sending = {
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
