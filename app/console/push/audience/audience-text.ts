import type { Audience } from "@/lib/push/audience";

export const PLATFORMS: Record<NonNullable<Audience["platform"]>, string> = {
  ios: "iOS",
  ipados: "iPadOS",
  macos: "macOS",
  tvos: "tvOS",
  visionos: "visionOS",
  watchos: "watchOS",
};

export function audienceText({ bundleId, platform, appVersion, locale, entitlement, lastSeen }: Audience): string {
  const choices = [
    bundleId,
    platform && PLATFORMS[platform],
    appVersion?.from && `version ${appVersion.from} or later`,
    appVersion?.below && `version below ${appVersion.below}`,
    locale && `language ${locale}`,
    entitlement && `entitlement ${entitlement}`,
    lastSeen?.from && `seen since ${dayOf(lastSeen.from)}`,
    lastSeen?.before && `not seen since ${dayOf(lastSeen.before)}`,
  ].filter((choice) => choice !== undefined);
  return choices.length > 0 ? choices.join(", ") : "Every device";
}

const dayOf = (time: string) => time.slice(0, "2026-11-22".length);
