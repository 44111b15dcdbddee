import { AppError } from "../../errors";
import type { Snapshot } from "../catalog/snapshot";
import type { VersionQuery } from "../http-schema";
import type { Platform } from "../platforms";
import { type InstalledVersion, installedByBuild, NOT_A_VERSION, parseInstalledVersion } from "./installed-version";
import type { ReleaseSelector } from "./parse-query";

/** What an updater requires of a query. */
type Requirements = { platforms?: readonly Platform[]; requiresCurrentVersion?: true; requiresBundleType?: true };

/** Reads the installed version; null if the query has none. @throws AppError invalid_query if it cannot be parsed */
export function readInstalledVersion(query: VersionQuery): InstalledVersion | null {
  const given = givenVersion(query);
  if (!given) return null;
  const installed = parseInstalledVersion(given.text);
  if (installed) return installed;
  const errors = [{ pointer: `?${given.name}`, code: "invalid_format", detail: NOT_A_VERSION }];
  throw new AppError("invalid_query", { errors });
}

/** Reads the installed version of an app with Sparkle or WinSparkle, which may be a build version. Null if unknown. */
export function readInstalledBuild(
  query: VersionQuery,
  snapshot: Snapshot,
  selector: ReleaseSelector,
): InstalledVersion | null {
  const text = givenVersion(query)?.text ?? query.appVersion;
  return text === undefined ? null : installedByBuild(snapshot, selector, text);
}

function givenVersion({ current, version }: VersionQuery): { name: string; text: string } | null {
  if (current !== undefined && version !== undefined) {
    const detail = "Is an alias of current: send only one of them";
    throw new AppError("invalid_query", { errors: [{ pointer: "?version", code: "repeated", detail }] });
  }
  if (current !== undefined) return { name: "current", text: current };
  return version === undefined ? null : { name: "version", text: version };
}

/** @throws AppError invalid_query with `allowed` or `missing` */
export function assertSupportedQuery(
  { platforms, requiresCurrentVersion, requiresBundleType }: Requirements,
  { platform }: ReleaseSelector,
  { bundleType }: VersionQuery,
  installed: InstalledVersion | null,
): void {
  if (platforms && !platforms.includes(platform)) {
    const detail = `Must be ${platforms.join(" or ")} with this format`;
    const errors = [{ pointer: "?platform", code: "invalid_value", detail }];
    throw new AppError("invalid_query", { errors, fields: { allowed: { platform: platforms } } });
  }
  if (requiresCurrentVersion && !installed) {
    throw missing("current", "Is required with this format, because its updater does not compare versions");
  }
  if (requiresBundleType && platform === "linux" && bundleType === undefined) {
    throw missing("bundleType", "Is required with this format on Linux, where one type of file cannot update another");
  }
}

function missing(name: string, detail: string): AppError {
  const errors = [{ pointer: `?${name}`, code: "required", detail }];
  return new AppError("invalid_query", { errors, fields: { missing: [name] } });
}
