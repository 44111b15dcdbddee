import type { SemVer } from "semver";
import type { Snapshot } from "../catalog/snapshot";
import type { Release } from "../schema";
import type { ReleaseSelector } from "./release-selector";
import { candidateLists } from "./selection";

/** What the releases up to a certain one say of the versions before it, all together. */
export type SupportPolicy = {
  /** The oldest version that is supported; null where none of them says. */
  minimumSupportedVersion: SemVer | null;
  /** Callers below it must update: it is the newest critical release, or the oldest supported version. */
  mandatoryBelow: SemVer | null;
  /** What Sparkle compares with, where `mandatoryBelow` is a release that has a build version. */
  mandatoryBelowBuild: string | null;
};

/** By release, and by whose question it is: a new catalog has new releases, and so starts afresh. */
const known = new WeakMap<Release, Map<string, SupportPolicy>>();

/**
 * What holds for an update to `release`. It is cumulative: what a release said of older versions is true of every
 * later one, also where that says nothing itself. What is yanked no longer says anything.
 */
export function supportPolicyOf(snapshot: Snapshot, wanted: ReleaseSelector, release: Release): SupportPolicy {
  const made = known.get(release) ?? new Map<string, SupportPolicy>();
  known.set(release, made);
  const key = `${wanted.architecture} ${wanted.channel}`;
  const support = made.get(key) ?? sumUp(candidateLists(snapshot, wanted).flat(), release);
  made.set(key, support);
  return support;
}

function sumUp(releases: readonly Release[], { version }: Release): SupportPolicy {
  let minimumSupportedVersion: SemVer | null = null;
  let critical: SemVer | null = null;
  for (const other of releases) {
    if (other.version.compare(version) > 0) continue;
    minimumSupportedVersion = higher(minimumSupportedVersion, other.minimumSupportedVersion);
    if (other.critical) critical = higher(critical, other.version);
  }
  const mandatoryBelow = higher(minimumSupportedVersion, critical);
  const named = mandatoryBelow && releases.find((other) => other.version.compare(mandatoryBelow) === 0);
  return { minimumSupportedVersion, mandatoryBelow, mandatoryBelowBuild: named?.buildVersion ?? null };
}

function higher(one: SemVer | null, other: SemVer | null): SemVer | null {
  if (one === null || other === null) return one ?? other;
  return one.compare(other) < 0 ? other : one;
}

/**
 * What a release means to a caller that has `current`. An older release is an update only as a rollback; an
 * update is mandatory where it is critical itself, or the caller is below `mandatoryBelow`.
 */
export function evaluateUpdate(
  release: Release,
  current: SemVer,
  { mandatoryBelow }: Pick<SupportPolicy, "mandatoryBelow">,
): { updateAvailable: boolean; mandatory: boolean } {
  const order = release.version.compare(current);
  const updateAvailable = order > 0 || (order < 0 && release.rollback);
  const isBelow = mandatoryBelow !== null && current.compare(mandatoryBelow) < 0;
  return { updateAvailable, mandatory: updateAvailable && (release.critical || isBelow) };
}
