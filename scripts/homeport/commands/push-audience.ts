import { Audience } from "../../../lib/push/audience";
import { UsageError } from "../../command-line";
import type { HomeportCommand } from "../command";
import { checked, oneOf, parseTime } from "../options";

/** The options that select an audience, and when it is notified. */
export type AudienceOptions = {
  all?: boolean;
  bundle?: string;
  appFrom?: string;
  appBelow?: string;
  platform?: string;
  locale?: string;
  entitlement?: string;
  seenFrom?: string;
  seenBefore?: string;
};

/** Adds the options of `AudienceOptions` to a command. */
export function withAudience(command: HomeportCommand): HomeportCommand {
  return command
    .option("--bundle <id>", "devices of an app: one of APNS_BUNDLE_IDS")
    .option("--app-from <version>", "devices with this version of the app or a later one")
    .option("--app-below <version>", "devices with an older version of the app")
    .addOption(
      oneOf("--platform <name>", "devices of a platform, such as ios", Audience.shape.platform.unwrap().options),
    )
    .option("--locale <tag>", "devices in a language, such as de or de-AT")
    .option("--entitlement <id>", "devices of accounts with an active entitlement")
    .option("--seen-from <time>", "devices seen since a time, or within a span such as 30d")
    .option("--seen-before <time>", "devices not seen since a time, or for a span such as 90d");
}

/** Returns the audience that the options select; null: they select none. @throws UsageError with every fault */
export function audienceOf(options: AudienceOptions): Audience | null {
  const { all = false, bundle, appFrom, appBelow, platform, locale, entitlement, seenFrom, seenBefore } = options;
  const audience = {
    ...(bundle === undefined ? {} : { bundleId: bundle }),
    ...(appFrom === undefined && appBelow === undefined ? {} : { appVersion: { from: appFrom, below: appBelow } }),
    ...(platform === undefined ? {} : { platform }),
    ...(locale === undefined ? {} : { locale }),
    ...(entitlement === undefined ? {} : { entitlement }),
    ...(seenFrom === undefined && seenBefore === undefined
      ? {}
      : { lastSeen: { from: parseTime(seenFrom, "ago"), before: parseTime(seenBefore, "ago") } }),
  };
  const isAnyone = Object.keys(audience).length === 0;
  if (all && !isAnyone) throw new UsageError("--all cannot be combined with other device options");
  if (isAnyone && !all) return null;
  return checked(Audience, audience, {
    bundleId: "--bundle",
    appVersion: "--app-from, --app-below",
    platform: "--platform",
    locale: "--locale",
    entitlement: "--entitlement",
    lastSeen: "--seen-from, --seen-before",
  });
}
