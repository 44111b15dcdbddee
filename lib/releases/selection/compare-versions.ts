import type { SemVer } from "semver";
import type { Release } from "../schema";
import { compareSystemVersions } from "../system-version";
import type { InstalledVersion } from "./installed-version";

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
