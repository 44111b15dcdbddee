import { parse, type SemVer } from "semver";
import { completeFiles } from "../release-files";
import { type Artifact, type Delta, formatVersion, type Release } from "../schema";
import type { ReleaseSelector } from "../selection/parse-query";
import { candidateLists } from "../selection/select-release";
import type { UpdateRequest } from "./update-feed";

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

/** Reads the package id from a file's name. null: the name of another version or kind. */
type PackageIdOf = (fileName: string, version: SemVer, kind: NupkgKind) => string | null;

export function fullPackage(release: Release, packageIdOf: PackageIdOf): Artifact | undefined {
  return completeFiles(release).find((artifact) => isPackage(artifact, release, "full", packageIdOf));
}

function isPackage({ fileName, sha1 }: Artifact, { version }: Release, kind: NupkgKind, idOf: PackageIdOf): boolean {
  return sha1 !== undefined && idOf(fileName, version, kind) !== null;
}

/** Velopack downloads the whole package instead of more (UpdateOptions.MaximumDeltasBeforeFallback). */
const MAX_DELTAS = 10;

type ChainedDelta = { release: Release; delta: Delta };

/**
 * The deltas to a release, in order. Empty if the chain has a gap, which breaks the update, or is not smaller than
 * `full`.
 */
export function deltaChain(
  { snapshot, current }: Pick<UpdateRequest, "snapshot" | "current">,
  selector: ReleaseSelector,
  to: Release,
  full: Artifact,
  packageIdOf: PackageIdOf,
): ChainedDelta[] {
  const candidates = candidateLists(snapshot, selector).flat();
  const newestFirst = candidates.filter(
    ({ architecture, version }) => architecture === to.architecture && version.compare(to.version) <= 0,
  );
  const chain: ChainedDelta[] = [];
  let at = current;
  while (at && at.compare(to.version) < 0) {
    const next = findDelta(newestFirst, at, packageIdOf);
    if (!next || chain.length === MAX_DELTAS) return [];
    chain.push(next);
    at = next.release.version;
  }
  return chain.reduce((sum, { delta }) => sum + delta.sizeBytes, 0) < full.sizeBytes ? chain : [];
}

/** The delta that leads furthest. */
function findDelta(newestFirst: readonly Release[], from: SemVer, packageIdOf: PackageIdOf): ChainedDelta | undefined {
  for (const release of newestFirst.filter(({ version }) => version.compare(from) > 0)) {
    const isSuitable = (delta: Delta) =>
      delta.from.compare(from) === 0 && isPackage(delta, release, "delta", packageIdOf);
    const delta = release.artifacts.deltas.find(isSuitable);
    if (delta) return { release, delta };
  }
  return undefined;
}
