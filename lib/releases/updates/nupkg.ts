import { parse, type SemVer } from "semver";
import { formatVersion } from "../schema";

/** Velopack and Squirrel.Windows name their packages `Acme-1.2.0-full.nupkg` and `Acme-1.2.0-delta.nupkg`. */
export type NupkgKind = "full" | "delta";

/**
 * A version as Squirrel.Windows has it: `1.2.0-beta.1` is `1.2.0-beta1`, since it knows no dots in a prerelease
 * (NuGet.SemanticVersion), and build metadata is the fourth number.
 */
export function squirrelVersion({ major, minor, patch, prerelease, build }: SemVer): string {
  const [fourth = ""] = build;
  const numbers = `${major}.${minor}.${patch}`;
  if (prerelease.length > 0) return `${numbers}-${prerelease.join("")}`;
  return /^\d+$/.test(fourth) ? `${numbers}.${fourth}` : numbers;
}

/**
 * The catalog's version that Squirrel.Windows means: it compares the digits at the end of a prerelease as a number, so
 * `1.2.0-beta10` is `1.2.0-beta.10`. A fourth number becomes build metadata. Null if it is not a version.
 */
export function parseSquirrelVersion(text: string): SemVer | null {
  const [, major, minor, patch = "0", fourth, prerelease = ""] =
    /^(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([A-Za-z][A-Za-z0-9.-]*))?$/.exec(text) ?? [];
  const words = separateNumber(prerelease);
  const suffix = words === "" ? "" : `-${words}`;
  return parse(`${major}.${minor}.${patch}${suffix}${fourth === undefined ? "" : `+${fourth}`}`);
}

/** `beta10` as `beta.10`, which SemVer reads as a number. */
export function separateNumber(word: string): string {
  return word.replace(/(?<=[A-Za-z])\d+$/, (digits) => `.${BigInt(digits)}`);
}

/** The installed version as the catalog writes it: as one of the `known` versions, which may have no dot either. */
export function installedSquirrelVersion(installed: SemVer, known: readonly SemVer[]): SemVer {
  if (installed.prerelease.length === 0) return installed;
  const name = squirrelVersion(installed);
  return known.find((version) => squirrelVersion(version) === name) ?? parseSquirrelVersion(name) ?? installed;
}

/** The package id in a file name that Squirrel.Windows reads this version and kind from; null for any other name. */
export function squirrelPackageId(fileName: string, version: SemVer, kind: NupkgKind): string | null {
  const ending = `-${squirrelVersion(version)}-${kind}.nupkg`;
  return fileName.endsWith(ending) && !/[\s#]/.test(fileName) ? fileName.slice(0, -ending.length) || null : null;
}

/** The package id in Velopack's `Acme-1.2.0-full.nupkg` or `Acme-1.2.0-linux-full.nupkg`; null for any other name. */
export function velopackPackageId(fileName: string, version: SemVer, kind: NupkgKind): string | null {
  return parseVelopackName(fileName, version, kind)?.packageId ?? null;
}

/** `channel` is Velopack's own; undefined for the default one, whose name Windows packages leave out. */
export function parseVelopackName(
  fileName: string,
  version: SemVer,
  kind: NupkgKind,
): { packageId: string; channel: string | undefined } | null {
  const [, stem = "", named] = /^(.+)-(full|delta)\.nupkg$/.exec(fileName) ?? [];
  if (named !== kind) return null;
  for (const text of new Set([formatVersion(version), version.version])) {
    const at = stem.lastIndexOf(`-${text}`);
    const rest = stem.slice(at + text.length + 1);
    if (at > 0 && /^(-[A-Za-z][A-Za-z0-9._-]*)?$/.test(rest)) {
      return { packageId: stem.slice(0, at), channel: rest === "" ? undefined : rest.slice(1) };
    }
  }
  return null;
}
