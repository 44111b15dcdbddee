import type { SemVer } from "semver";
import { perObject } from "../../platform/per-object";
import type { Snapshot } from "../catalog/snapshot";
import type { Release } from "../schema";
import { compareWithInstalled } from "./installed-version";
import type { ReleaseSelector } from "./parse-query";
import { candidateLists, suitableArchitectures } from "./select-release";

/** Which older versions are still supported, according to all releases up to a certain one. */
export type SupportPolicy = {
  /** The oldest supported version; null if no release names one. */
  minimumSupportedVersion: SemVer | null;
  /** Clients below it must update: the newest critical release, or the oldest supported version if that is newer. */
  mandatoryBelow: SemVer | null;
  /** The build version of the release `mandatoryBelow`, which Sparkle compares; null if it has none. */
  mandatoryBelowBuild: string | null;
  /** The versions that are yanked or paused and that no other build still serves; empty unless it is a rollback. */
  replacedVersions: ReadonlySet<string>;
};

/** Policies by release and selector. A new catalog has new `Release` objects, so old policies are collected. */
const policiesOf = perObject((_release: Release) => new Map<string, SupportPolicy>());

/** The policy of an update to `release`. What a release says about older versions also holds for later ones. */
export function supportPolicyOf(snapshot: Snapshot, selector: ReleaseSelector, release: Release): SupportPolicy {
  const policies = policiesOf(release);
  const key = `${selector.architecture} ${selector.channel}`;
  const known = policies.get(key);
  if (known) return known;
  const candidates = candidateLists(snapshot, selector).flat();
  const replacedVersions = release.rollback ? replacedBy(snapshot, selector, candidates) : NO_VERSIONS;
  const policy = { ...accumulate(candidates, release), replacedVersions };
  policies.set(key, policy);
  return policy;
}

const NO_VERSIONS: ReadonlySet<string> = new Set();

function replacedBy({ releases }: Snapshot, selector: ReleaseSelector, candidates: readonly Release[]): Set<string> {
  const served = new Set(candidates.filter(({ rollout }) => rollout > 0).map(({ version }) => version.version));
  const architectures = suitableArchitectures(selector);
  const isOwn = ({ platform, product, architecture }: Release) =>
    platform === selector.platform && product === selector.product && architectures.includes(architecture);
  const withdrawn = releases.filter((release) => (release.yanked || release.rollout === 0) && isOwn(release));
  return new Set(withdrawn.map(({ version }) => version.version).filter((version) => !served.has(version)));
}

function accumulate(releases: readonly Release[], { version }: Release): Omit<SupportPolicy, "replacedVersions"> {
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

function higher(a: SemVer | null, b: SemVer | null): SemVer | null {
  if (a === null || b === null) return a ?? b;
  return a.compare(b) < 0 ? b : a;
}

/**
 * Whether `release` is an update for a client, and a mandatory one. An older release is an update only for a withdrawn
 * version: to offer it to others would bring back what a later one has fixed.
 */
export function evaluateUpdate(
  release: Release,
  current: SemVer,
  { mandatoryBelow, replacedVersions }: Pick<SupportPolicy, "mandatoryBelow" | "replacedVersions">,
  numbers: string | null = null,
): { updateAvailable: boolean; mandatory: boolean } {
  const order = compareWithInstalled(release, { version: current, numbers });
  const updateAvailable = order > 0 || (order < 0 && replacedVersions.has(current.version));
  const isBelow = mandatoryBelow !== null && current.compare(mandatoryBelow) < 0;
  return { updateAvailable, mandatory: updateAvailable && (release.critical || isBelow) };
}
