import { compareBuild, type SemVer } from "semver";
import { AppError, type FieldError } from "../errors";
import { ALWAYS_KNOWN, releasesOf, type Selector, type Snapshot } from "./catalog/snapshot";
import { Kind, type Platform, type Release } from "./schema";

/** What somebody wants, in the catalog's own words. */
export type Wanted = { platform: Platform; product: string; architecture: string; channel: string };

const PLATFORMS: ReadonlyMap<string, Platform> = new Map([
  ["windows", "windows"],
  ["win32", "windows"],
  ["macos", "macos"],
  ["darwin", "macos"],
  ["mac", "macos"],
  ["osx", "macos"],
]);
const ARCHITECTURES: ReadonlyMap<string, string> = new Map([
  ["x86_64", "x64"],
  ["amd64", "x64"],
  ["aarch64", "arm64"],
]);

/** Whose build runs where there is no own one. A universal build is native, so a newer one wins over an own. */
const FALL_BACKS: ReadonlyMap<string, { architecture: string; whenNewer: boolean }> = new Map([
  ["macos/x64", { architecture: "universal", whenNewer: true }],
  ["macos/arm64", { architecture: "universal", whenNewer: true }],
  ["windows/arm64", { architecture: "x64", whenNewer: false }],
]);

/** The platform that a name means, in any case: `win32`, `Darwin`; undefined for an unknown one. */
export function platformOf(name: string): Platform | undefined {
  return PLATFORMS.get(name.toLowerCase());
}

/**
 * Whether a query selects a release: it names at least one of platform, product and architecture. One that
 * names only some of them is refused by `readSelection`.
 */
export function selects(query: Partial<Record<Selector, string>>): boolean {
  return query.platform !== undefined || query.product !== undefined || query.architecture !== undefined;
}

/**
 * Reads a selection: aliases, any case, channel `stable` where none is named.
 * @throws AppError invalid_query with `missing` and `allowed` for a partial one, with `allowed` for unknown
 * values; catalog_unavailable without a snapshot.
 */
export function readSelection(query: Partial<Record<Selector, string>>, snapshot: Snapshot | null): Wanted {
  const { platform, product, architecture, channel = "stable" } = query;
  if (platform === undefined || product === undefined || architecture === undefined) {
    throw incomplete(query, snapshot?.known ?? ALWAYS_KNOWN);
  }
  if (!snapshot) throw new AppError("catalog_unavailable");
  const wanted = {
    platform: platformOf(platform),
    product: product.toLowerCase(),
    architecture: ARCHITECTURES.get(architecture.toLowerCase()) ?? architecture.toLowerCase(),
    channel: channel.toLowerCase(),
  };
  if (
    wanted.platform &&
    snapshot.known.product.has(wanted.product) &&
    snapshot.known.architecture.has(wanted.architecture) &&
    snapshot.known.channel.has(wanted.channel)
  ) {
    return { ...wanted, platform: wanted.platform };
  }
  throw unknownValues(wanted, snapshot.known);
}

/**
 * The newest release for somebody, and whose kind is there where one is named. One that is still being rolled
 * out is passed over.
 */
export function selectRelease(snapshot: Snapshot, wanted: Wanted, kind?: Kind): Release | undefined {
  const isServed = ({ rollout, artifacts }: Release) => rollout === 100 && (!kind || artifacts[kind] !== undefined);
  return withFallBack(wanted, (where) => releasesOf(snapshot, where).find(isServed));
}

/**
 * One version of what somebody wants, rolled out or not, since the caller names it. The named channel's own
 * build comes before a stable one of the same version.
 */
export function findVersion(snapshot: Snapshot, wanted: Wanted, version: SemVer): Release | undefined {
  return withFallBack(wanted, (where) => {
    const same = releasesOf(snapshot, where).filter((release) => compareBuild(release.version, version) === 0);
    return same.find(({ channel }) => channel === wanted.channel) ?? same[0];
  });
}

/**
 * What a release means to a caller that has `current`. An older release is an update only as a rollback; an
 * update is mandatory where it is critical or the caller's version is no longer supported.
 */
export function judgeUpdate(release: Release, current: SemVer): { updateAvailable: boolean; mandatory: boolean } {
  const order = release.version.compare(current);
  const updateAvailable = order > 0 || (order < 0 && release.rollback);
  const unsupported = release.minimumSupportedVersion !== null && current.compare(release.minimumSupportedVersion) < 0;
  return { updateAvailable, mandatory: updateAvailable && (release.critical || unsupported) };
}

/** The artifact that a release is known by: the installer, else what it has. */
export function mainArtifact(release: Release) {
  for (const kind of Kind.options) {
    const artifact = release.artifacts[kind];
    if (artifact) return { kind, artifact };
  }
  return undefined;
}

function withFallBack(wanted: Wanted, find: (where: Wanted) => Release | undefined): Release | undefined {
  const own = find(wanted);
  const fallBack = FALL_BACKS.get(`${wanted.platform}/${wanted.architecture}`);
  if (!fallBack || (own && !fallBack.whenNewer)) return own;
  const other = find({ ...wanted, architecture: fallBack.architecture });
  return own && other ? (compareBuild(other.version, own.version) > 0 ? other : own) : (own ?? other);
}

function incomplete(query: Partial<Record<Selector, string>>, known: Snapshot["known"]): AppError {
  const missing = (["platform", "product", "architecture"] as const).filter((name) => query[name] === undefined);
  return new AppError("invalid_query", {
    detail: "Platform, product and architecture go together.",
    errors: missing.map((name) => ({ pointer: `?${name}`, code: "required", detail: "Is needed here" })),
    members: { missing, allowed: allowed(missing, known) },
  });
}

function unknownValues(wanted: Record<Selector, string | undefined>, known: Snapshot["known"]): AppError {
  const names = (["platform", "product", "architecture", "channel"] as const).filter(
    (name) => !known[name].has(wanted[name] ?? ""),
  );
  const errors: FieldError[] = names.map((name) => ({
    pointer: `?${name}`,
    code: "invalid_value",
    detail: `Must be one of ${[...known[name]].join(", ")}`,
  }));
  return new AppError("invalid_query", { errors, members: { allowed: allowed(names, known) } });
}

function allowed(names: readonly Selector[], known: Snapshot["known"]): Record<string, string[]> {
  return Object.fromEntries(names.map((name) => [name, [...known[name]]]));
}
