/**
 * What Sparkle 2.9 reads of an appcast: the constants SUAppcastElement…, SUAppcastAttribute… and SURSS… of
 * Sparkle/SUConstants.m in sparkle-project/Sparkle, by the place where SUAppcast.m and SUAppcastItem.m look for them.
 */
export const SPARKLE = {
  item: new Set([
    "title",
    "link",
    "description",
    "pubDate",
    "enclosure",
    "sparkle:version",
    "sparkle:shortVersionString",
    "sparkle:criticalUpdate",
    "sparkle:deltas",
    "sparkle:minimumAutoupdateVersion",
    "sparkle:minimumSystemVersion",
    "sparkle:maximumSystemVersion",
    "sparkle:minimumUpdateVersion",
    "sparkle:hardwareRequirements",
    "sparkle:releaseNotesLink",
    "sparkle:fullReleaseNotesLink",
    "sparkle:tags",
    "sparkle:phasedRolloutInterval",
    "sparkle:informationalUpdate",
    "sparkle:channel",
    "sparkle:bundleIdentifier", // since 2.11
    "sparkle:belowVersion",
    "sparkle:ignoreSkippedUpgradesBelowVersion",
  ]),
  enclosure: new Set([
    "url",
    "length",
    "type", // RSS 2.0; Sparkle does not read it
    "sparkle:version",
    "sparkle:shortVersionString",
    "sparkle:edSignature",
    "sparkle:os",
    "sparkle:installationType",
    "sparkle:deltaFrom",
    "sparkle:deltaFromSparkleExecutableSize",
    "sparkle:deltaFromSparkleLocales",
  ]),
} as const;

/** What WinSparkle reads: NODE_… and ATTR_… of src/appcast.cpp in vslavik/winsparkle. It ignores anything else. */
export const WINSPARKLE = {
  item: new Set([
    "title",
    "link",
    "description",
    "enclosure",
    "sparkle:version",
    "sparkle:shortVersionString",
    "sparkle:criticalUpdate",
    "sparkle:minimumSystemVersion",
    "sparkle:releaseNotesLink",
  ]),
  enclosure: new Set([
    "url",
    "sparkle:version",
    "sparkle:shortVersionString",
    "sparkle:os",
    "sparkle:edSignature",
    "sparkle:installerArguments",
  ]),
} as const;
