import { parse, type SemVer } from "semver";
import { productVersions, type Snapshot } from "../catalog/snapshot";
import { compareSystemVersions } from "../platforms";
import type { Release } from "../schema";
import type { ReleaseSelector } from "./parse-query";

/** What a client says about itself. `numbers` are four numbers as Windows has them, compared with a `buildVersion`. */
export type InstalledVersion = { version: SemVer; numbers: string | null };

/** The message for a text that is not a version. */
export const NOT_A_VERSION = "Must be a SemVer 2.0.0 version, or one to four numbers separated by dots";

const NUMBERS = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?$/i;

/** Parses SemVer 2.0.0, or one to four numbers as Apple and Windows use them: `1.4`, `1.4.2.7`. Returns null otherwise. */
export function parseInstalledVersion(text: string): InstalledVersion | null {
  const trimmed = text.trim();
  const [, major, minor = "0", patch = "0", build] = NUMBERS.exec(trimmed) ?? [];
  if (major === undefined) {
    const version = parse(trimmed.replace(/^V/, "v").replaceAll(" ", "+")); // an unescaped + arrives as a space
    return version && { version, numbers: null };
  }
  const three = [major, minor, patch].map(withoutLeadingZeros).join(".");
  const version = parse(build === undefined ? three : `${three}+${withoutLeadingZeros(build)}`);
  return version && { version, numbers: build === undefined ? null : trimmed.replace(/^v/i, "") };
}

const withoutLeadingZeros = (digits: string) => digits.replace(/^0+(?=\d)/, "");

/**
 * What an app with Sparkle has installed: a build version (CFBundleVersion), such as 140, means the release with the
 * highest one up to it, among those with dots if it has dots: `3.5.0` is no build version where releases have 1 to 3. A version that
 * cannot be parsed is null, since Sparkle compares versions itself.
 */
export function installedByBuild(
  snapshot: Snapshot,
  selector: ReleaseSelector,
  text: string | undefined,
): InstalledVersion | null {
  if (text === undefined) return null;
  const parsed = parseInstalledVersion(text);
  const isDotted = text.includes(".");
  if (!/^\d+(\.\d+)*$/.test(text)) return parsed;
  const { builds } = productVersions(snapshot, selector);
  const isKnown = parsed && builds.some(({ version }) => version.compare(parsed.version) === 0);
  if (isDotted && isKnown) return parsed;
  const alike = builds.filter(({ buildVersion }) => !isDotted || buildVersion.includes("."));
  const build = alike.findLast(({ buildVersion }) => compareSystemVersions(buildVersion, text) <= 0);
  return build ? { version: build.version, numbers: null } : parsed;
}

/**
 * Compares a release with the installed version, as `Array.prototype.sort` expects: by SemVer precedence, then by the
 * build number if both have one (`1.4.2+7`). Four numbers are compared with the release's `buildVersion`, if it has one.
 */
export function compareWithInstalled(
  { version, buildVersion }: Pick<Release, "version" | "buildVersion">,
  installed: InstalledVersion,
): number {
  if (installed.numbers !== null && buildVersion !== null) {
    return compareSystemVersions(buildVersion, installed.numbers);
  }
  const order = version.compare(installed.version);
  if (order !== 0) return order;
  const [own, other] = [buildNumberOf(version), buildNumberOf(installed.version)];
  return own === null || other === null ? 0 : own - other;
}

/** The build metadata if it is one number; SemVer gives it no precedence. */
function buildNumberOf({ build }: SemVer): number | null {
  return build.length === 1 && /^\d+$/.test(build[0] ?? "") ? Number(build[0]) : null;
}
