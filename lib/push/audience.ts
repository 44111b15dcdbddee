import { coerce, compare, parse } from "semver";
import { z } from "zod";
import type { PushDevice } from "../platform/db/generated/client";

const Version = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+){0,2}(-[\dA-Za-z.-]+)?(\+[\dA-Za-z.-]+)?$/, "Must be a version such as 2.1.0");
const Time = z.iso.datetime({ offset: true });

/** The names that Apple's models begin with: `iPhone18,1`, `Mac16,8`. */
const MODELS = {
  ios: "iPhone",
  ipados: "iPad",
  macos: "Mac",
  tvos: "AppleTV",
  visionos: "RealityDevice",
  watchos: "Watch",
} as const;
type Platform = keyof typeof MODELS;

/** The devices that a message is for: those for which all of this is true. Stored with the message. */
export const Audience = z.strictObject({
  bundleId: z.string().min(1).max(255).optional().describe("An app: one of `APNS_BUNDLE_IDS`."),
  appVersion: z
    .strictObject({ from: Version.optional(), below: Version.optional() })
    .optional()
    .describe("The `appVersion` that the device has registered."),
  platform: z
    .enum(Object.keys(MODELS) as Platform[])
    .optional()
    .describe("By the `model` that the device has registered."),
  locale: z
    .string()
    .regex(/^[A-Za-z]{2,8}(-[A-Za-z\d]{1,8})*$/, "Must be a language tag such as de")
    .max(35)
    .optional()
    .describe("A language range: `de` includes de-AT (RFC 4647, section 3.3.1)."),
  entitlement: z.string().min(1).max(255).optional().describe("Only accounts for which it is active."),
  lastSeen: z
    .strictObject({ from: Time.optional(), before: Time.optional() })
    .optional()
    .describe("When the device last registered, which it does at each launch."),
});
export type Audience = z.infer<typeof Audience>;

/** The fields of a device that decide whether it belongs to an audience, apart from its account's entitlements. */
export type AudienceDevice = Pick<PushDevice, "appVersion" | "bundleId" | "lastSeenAt" | "locale" | "model">;

/**
 * Whether a device belongs to an audience, except for its account's entitlements. A condition on a field that the
 * device has not registered does not match.
 */
export function isInAudience(device: AudienceDevice, audience: Audience): boolean {
  const { bundleId, appVersion, platform, locale, lastSeen } = audience;
  const { from, before } = lastSeen ?? {};
  return (
    (bundleId === undefined || device.bundleId === bundleId) &&
    (platform === undefined || (device.model?.startsWith(MODELS[platform]) ?? false)) &&
    (locale === undefined || isInRange(device.locale, locale.toLowerCase())) &&
    (appVersion === undefined || isVersionIn(device.appVersion, appVersion)) &&
    (from === undefined || device.lastSeenAt >= new Date(from)) &&
    (before === undefined || device.lastSeenAt < new Date(before))
  );
}

function isInRange(locale: string | null, range: string): boolean {
  return locale !== null && `${toLanguageTag(locale)}-`.startsWith(`${range}-`);
}

function isVersionIn(installed: string | null, { from, below }: NonNullable<Audience["appVersion"]>): boolean {
  const version = toSemVer(installed);
  const [least, limit] = [toSemVer(from), toSemVer(below)];
  return version !== null && !(least && compare(version, least) < 0) && !(limit && compare(version, limit) >= 0);
}

/** A CFBundleShortVersionString may have one or two numbers: they are followed by zeros. */
function toSemVer(version: string | null | undefined) {
  return parse(version ?? null) ?? coerce(version ?? null);
}

/** The identifier of a device's locale as a language tag: iOS writes `de_AT`, or `en_US@calendar=japanese`. */
export function toLanguageTag(locale: string): string {
  return (locale.split(/[@.]/, 1)[0] ?? "").replaceAll("_", "-").toLowerCase();
}
