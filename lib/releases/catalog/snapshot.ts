import { compareBuild, type SemVer } from "semver";
import { Platform, type Release, versionText } from "../schema";
import { compareSystems } from "../system-version";

/** The query parameters that name what is wanted. */
export type Selector = "platform" | "product" | "architecture" | "channel";

/** One good catalog, indexed. Never changes; a changed manifest makes a new one. */
export type Snapshot = {
  /** The catalog's folder, symbolic links resolved; null where it has none. */
  root: string | null;
  /** The values that each parameter may take. */
  known: Readonly<Record<Selector, ReadonlySet<string>>>;
  /** What a channel of one platform, product and architecture sees, newest first; see `releasesOf`. */
  index: ReadonlyMap<string, readonly Release[]>;
  /** Every channel's releases of one platform, product, architecture and version; see `versionsOf`. */
  versions: ReadonlyMap<string, readonly Release[]>;
  /** Each platform's minimum system versions, in ascending order. */
  minimumSystems: ReadonlyMap<string, readonly string[]>;
  /** What each version needs, by platform and product, whatever has become of it; see `minimumSystemOf`. */
  needs: ReadonlyMap<string, string | null>;
};

/** What is known whatever the catalog holds. */
export const ALWAYS_KNOWN: Snapshot["known"] = {
  platform: new Set(Platform.options),
  product: new Set(["core", "ops"]),
  architecture: new Set(["x64", "arm64", "universal"]),
  channel: new Set(["stable", "beta"]),
};

/**
 * Indexes a catalog's releases. What is yanked or has no artifact left is not indexed, nor are samples beside a
 * release that is none.
 * @throws Error where two releases have one id, or one version in the same place.
 */
export function indexReleases(root: string | null, releases: readonly Release[]): Snapshot {
  refuseTwins(releases, ({ id }) => `the id ${id}`);
  refuseTwins(releases, (release) => `${place(release)}/${release.channel} ${versionText(release.version)}`);
  const isReal = releases.some(({ sample }) => !sample);
  const known = {
    platform: ALWAYS_KNOWN.platform,
    product: new Set([...ALWAYS_KNOWN.product, ...releases.map(({ product }) => product)]),
    architecture: new Set([...ALWAYS_KNOWN.architecture, ...releases.map(({ architecture }) => architecture)]),
    channel: new Set([...ALWAYS_KNOWN.channel, ...releases.map(({ channel }) => channel)]),
  };
  const servable = releases.filter(
    ({ yanked, sample, artifacts }) => !yanked && !(sample && isReal) && (artifacts.installer ?? artifacts.update),
  );
  const index = new Map<string, Release[]>();
  for (const [where, all] of groupBy(servable.sort(newestFirst), place)) {
    for (const channel of new Set(["stable", ...all.map((release) => release.channel)])) {
      const seen = all.filter((release) => release.channel === "stable" || release.channel === channel);
      index.set(`${where}/${channel}`, seen);
    }
  }
  const versions = groupBy(servable, (release) => `${place(release)} ${versionText(release.version)}`);
  return { root, known, index, versions, ...systemsOf(releases) };
}

function systemsOf(releases: readonly Release[]): Pick<Snapshot, "minimumSystems" | "needs"> {
  const sorted = releases.flatMap(({ minimumSystemVersion }) => minimumSystemVersion ?? []).sort(compareSystems);
  const minimumSystems = new Map<string, string[]>();
  for (const platform of Platform.options) {
    const own = new Set(releases.filter((release) => release.platform === platform).map(minimumOf));
    minimumSystems.set(
      platform,
      [...new Set(sorted)].filter((minimum) => own.has(minimum)),
    );
  }
  const needs = new Map<string, string | null>();
  for (const release of releases) {
    const name = versionName(release, release.version);
    const [one, other] = [minimumOf(release), needs.get(name)];
    if (other === undefined || other === null || one === null) needs.set(name, other === null ? null : one);
    else needs.set(name, compareSystems(one, other) < 0 ? one : other);
  }
  return { minimumSystems, needs };
}

const minimumOf = ({ minimumSystemVersion }: Release) => minimumSystemVersion;

/** The oldest system that a version can have been installed on; null where nothing is known of that. */
export function minimumSystemOf({ needs }: Snapshot, wanted: Place, version: SemVer): string | null {
  return needs.get(versionName(wanted, version)) ?? null;
}

function versionName({ platform, product }: Pick<Place, "platform" | "product">, { version }: SemVer): string {
  return `${platform}/${product} ${version}`;
}

/** What a channel sees in one place, newest first: its own releases and the stable ones. */
export function releasesOf({ index }: Snapshot, wanted: Record<Selector, string>): readonly Release[] {
  const where = place(wanted);
  return index.get(`${where}/${wanted.channel}`) ?? index.get(`${where}/stable`) ?? NONE;
}

/** One version's releases in one place, build metadata included: one a channel at most. */
export function versionsOf({ versions }: Snapshot, wanted: Place, version: SemVer): readonly Release[] {
  return versions.get(`${place(wanted)} ${versionText(version)}`) ?? NONE;
}

type Place = Pick<Record<Selector, string>, "platform" | "product" | "architecture">;

/** One list for every place without releases. */
const NONE: readonly Release[] = [];

function place({ platform, product, architecture }: Place): string {
  return `${platform}/${product}/${architecture}`;
}

function groupBy(releases: readonly Release[], nameOf: (release: Release) => string): Map<string, Release[]> {
  const groups = new Map<string, Release[]>();
  for (const release of releases) {
    const name = nameOf(release);
    const group = groups.get(name);
    if (group) group.push(release);
    else groups.set(name, [release]);
  }
  return groups;
}

/** SemVer 2.0.0, item 11; of the same version on two channels the stable one comes first. */
function newestFirst(a: Release, b: Release): number {
  return compareBuild(b.version, a.version) || Number(b.channel === "stable") - Number(a.channel === "stable");
}

function refuseTwins(releases: readonly Release[], nameOf: (release: Release) => string): void {
  const seen = new Set<string>();
  for (const release of releases) {
    const name = nameOf(release);
    if (seen.has(name)) throw new Error(`Two releases have ${name}`);
    seen.add(name);
  }
}
