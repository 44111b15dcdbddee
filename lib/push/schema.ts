import { z } from "zod";
import type {
  LiveActivity as LiveActivityRow,
  LiveActivityStartToken,
  PushDevice,
} from "../platform/db/generated/client";
import { keyFromPoint } from "./evidence/p256";
import { Evidence } from "./evidence/schema";

const TOKEN_SUFFIX_LENGTH = 4;
/** An index contains the endpoint, and PostgreSQL's index rows are limited to 2,704 bytes. */
const MAX_ENDPOINT_LENGTH = 2_000;

const optionalText = (maxLength: number) => z.string().trim().min(1).max(maxLength).optional();
const time = z.date().nullable();

const installationId = z.uuid().toLowerCase().optional();
const about = z
  .object({
    name: optionalText(64),
    model: optionalText(64),
    osVersion: optionalText(32),
    appVersion: optionalText(32),
    locale: optionalText(35),
    timeZone: optionalText(64),
  })
  .default({});

/** A token of APNs: of a device, or of a Live Activity. */
const ApnsToken = z
  .string()
  .toLowerCase()
  .regex(/^(?:[0-9a-f]{2}){32,256}$/, "Must be 64 to 512 hexadecimal digits, two per byte");

/** A registration of an iOS device. Fields that it omits keep their previous values. */
export const RegisterDevice = z.object({
  platform: z.literal("ios").optional(),
  token: ApnsToken.describe("The APNs device token in hexadecimal."),
  installationId: installationId.describe("Identifies the installation when its token changes."),
  environment: z.enum(["production", "sandbox"]).default("production").describe("The APNs environment."),
  bundleId: z.string().max(255).optional().describe("A configured bundle ID. Defaults to the first one."),
  device: about,
  evidence: Evidence.optional().describe("The response to a challenge."),
});
export type RegisterDevice = z.infer<typeof RegisterDevice>;

const key = z
  .base64url()
  .max(128)
  .transform((text) => text.replace(/={1,2}$/, "")); // without padding

/** A registration of a browser. Fields that it omits keep their previous values. */
export const RegisterBrowser = z.object({
  platform: z.literal("web"),
  subscription: z
    .object({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .max(MAX_ENDPOINT_LENGTH)
        .regex(/^[!-~]+$/, "Must be ASCII"),
      keys: z.object({
        p256dh: key
          .refine((text) => keyFromPoint(Buffer.from(text, "base64url")) !== null, "Must be a public key of P-256")
          .describe("65 bytes in base64url."),
        auth: key
          .refine((text) => Buffer.from(text, "base64url").length === 16, "Must be 16 bytes")
          .describe("16 bytes in base64url."),
      }),
    })
    .describe("`PushSubscription.toJSON()`."),
  appUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .describe("The start of the web app, such as the `scope` of its service worker. Notifications lead there."),
  installationId: installationId.describe("Identifies the browser when its subscription changes."),
  device: about,
});
export type RegisterBrowser = z.infer<typeof RegisterBrowser>;

export const RegisterPush = z.discriminatedUnion("platform", [RegisterDevice, RegisterBrowser]);

export const VapidPublicKey = z.object({
  publicKey: z.string().describe("The `applicationServerKey` of `PushManager.subscribe`, in base64url."),
});

export const Device = z.object({
  id: z.uuid(),
  status: z.enum(["pending", "active", "invalid"]),
  environment: z.enum(["production", "sandbox", "web"]).describe("`web`: a browser."),
  bundleId: z.string().describe("`web` for a browser."),
  name: z.string().nullable(),
  model: z.string().nullable(),
  osVersion: z.string().nullable(),
  appVersion: z.string().nullable(),
  locale: z.string().nullable(),
  tokenSuffix: z.string().length(TOKEN_SUFFIX_LENGTH),
  createdAt: z.date(),
  verifiedAt: time,
  lastSeenAt: z.date(),
  lastDeliveredAt: time,
  invalidReason: z.string().nullable(),
  pendingReason: z
    .string()
    .nullable()
    .describe(
      "Why the last challenge did not reach the device: APNs's reason, `unreachable`, `timeout`, `paused` or `expired`.",
    ),
  current: z.boolean().describe("Whether the current session registered the device."),
});
export type Device = z.infer<typeof Device>;

export const Challenge = z.object({ id: z.uuid(), value: z.string(), expiresAt: z.date() });
export type Challenge = z.infer<typeof Challenge>;

export const RegisteredDevice = z.object({ device: Device });
export const PendingDevice = z.object({ device: Device, challenge: Challenge });
export const Devices = z.object({ devices: z.array(Device) });
export const DeviceParams = z.object({ deviceId: z.string().describe("The `id` of a device.") });

/** The part of a token that may be shown to its owner. */
export function tokenSuffix(token: string): string {
  return token.slice(-TOKEN_SUFFIX_LENGTH);
}

/**
 * A device as its owner sees it, with columns that the schema of the response leaves out. `failure` is why its last
 * challenge did not reach it, if known.
 */
export function toDevice({ token, ...row }: PushDevice, sessionId: string, failure: string | null = null): Device {
  const pendingReason = row.status === "pending" ? failure : null;
  return { ...row, tokenSuffix: tokenSuffix(token), pendingReason, current: row.sessionId === sessionId };
}

/** A name of the app's own. It begins with a letter or digit, so that it is no dot segment of a path. */
export const ActivityId = z
  .string()
  .regex(/^[A-Za-z\d][\w.:-]{0,63}$/, "Must be 1 to 64 letters, digits, and . _ : -")
  .describe(
    "The app's name for the activity: ActivityKit's `Activity.id`, or one that your server knows, such as an order's.",
  );

export const AttributesType = z
  .string()
  .regex(/^[A-Za-z_][\w.]{0,99}$/, "Must be the name of a Swift type")
  .describe("The name of the app's type that conforms to `ActivityAttributes`.");

const token = ApnsToken.describe("The push token from ActivityKit, in hexadecimal.");

export const LiveActivityParams = DeviceParams.extend({ activityId: ActivityId });
export type LiveActivityParams = z.infer<typeof LiveActivityParams>;
export const RegisterLiveActivity = z.object({ attributesType: AttributesType, token });
export type RegisterLiveActivity = z.infer<typeof RegisterLiveActivity>;

export const StartTokenParams = DeviceParams.extend({ attributesType: AttributesType });
export type StartTokenParams = z.infer<typeof StartTokenParams>;
export const RegisterStartToken = z.object({ token });
export type RegisterStartToken = z.infer<typeof RegisterStartToken>;

const shown = {
  attributesType: z.string(),
  tokenSuffix: z.string().length(TOKEN_SUFFIX_LENGTH),
  registeredAt: z.date(),
};
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
export function toStartToken(row: Omit<LiveActivityStartToken, "deviceId">): StartToken {
  return { attributesType: row.attributesType, tokenSuffix: tokenSuffix(row.token), registeredAt: row.registeredAt };
}
