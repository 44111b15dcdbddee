import { compareBuild, type SemVer } from "semver";
import { BUILT_IN_ARCHITECTURES, compareSystemVersions, Platform } from "../platforms";
import { completeFiles } from "../release-files";
import { formatVersion, type Release } from "../schema";

/** The query parameters that select releases. */
export type SelectorName = "platform" | "product" | "architecture" | "channel";

type BuildTarget = Pick<Record<SelectorName, string>, "platform" | "product" | "architecture">;

/** One valid catalog, indexed. Immutable: a changed manifest makes a new snapshot. */
export type Snapshot = {
  /** The catalog's folder with symbolic links resolved; null if the catalog has none. */
  root: string | null;
  releases: readonly Release[];
  /** The values that each parameter accepts. */
  knownValues: Readonly<Record<SelectorName, ReadonlySet<string>>>;
  /** The releases that a channel of a build target can receive, newest first. Read by `channelReleases`. */
  releasesByChannel: ReadonlyMap<string, readonly Release[]>;
  /** The releases of one version of a build target, on any channel. Read by `versionReleases`. */
  releasesByVersion: ReadonlyMap<string, readonly Release[]>;
  /** The distinct minimum system versions of each platform, in ascending order. */
  minimumSystemVersions: ReadonlyMap<string, readonly string[]>;
  /** The minimum system version of each published version, yanked ones included. Read by `minimumSystemVersionOf`. */
  minimumSystemByVersion: ReadonlyMap<string, string | null>;
  /** The versions of each build target that are yanked or paused on some channel. Read by `withdrawnVersions`. */
  withdrawnByTarget: ReadonlyMap<string, ReadonlySet<string>>;
  /** Read by `productVersions`. */
  versionsByProduct: ReadonlyMap<string, ProductVersions>;
};

/** Values that are valid in every catalog. */
export const BUILT_IN_VALUES: Snapshot["knownValues"] = {
  platform: new Set(Platform.options),
  product: new Set(["core", "ops"]),
  architecture: new Set(BUILT_IN_ARCHITECTURES),
  channel: new Set(["stable", "beta"]),
};

/** Indexes releases, without those that are yanked or have no files, and samples beside real releases. @throws Error */
export function indexReleases(root: string | null, releases: readonly Release[]): Snapshot {
  assertUnique(releases, ({ id }) => `the id ${id}`);
  assertUnique(releases, (release) => `${targetKey(release)}/${release.channel} ${formatVersion(release.version)}`);
  const hasRealReleases = releases.some(({ sample }) => !sample);
  const servable = releases.filter(
    (release) => !release.yanked && !(release.sample && hasRealReleases) && completeFiles(release).length > 0,
  );
  const releasesByChannel = new Map<string, Release[]>();
  for (const [target, all] of groupBy(servable.sort(newestFirst), targetKey)) {
    for (const channel of new Set(["stable", ...all.map((release) => release.channel)])) {
      const visible = all.filter((release) => release.channel === "stable" || release.channel === channel);
      releasesByChannel.set(`${target}/${channel}`, visible);
    }
  }
  return {
    root,
    releases,
    knownValues: {
      platform: BUILT_IN_VALUES.platform,
      product: new Set([...BUILT_IN_VALUES.product, ...releases.map(({ product }) => product)]),
      architecture: new Set([...BUILT_IN_VALUES.architecture, ...releases.map(({ architecture }) => architecture)]),
      channel: new Set([...BUILT_IN_VALUES.channel, ...releases.map(({ channel }) => channel)]),
    },
    releasesByChannel,
    releasesByVersion: groupBy(servable, (release) => `${targetKey(release)} ${formatVersion(release.version)}`),
    minimumSystemVersions: collectMinimumSystemVersions(releases),
    minimumSystemByVersion: indexMinimumSystems(releases),
    withdrawnByTarget: indexWithdrawn(releases),
    versionsByProduct: indexProductVersions(releases),
  };
}

function collectMinimumSystemVersions(releases: readonly Release[]): Map<string, string[]> {
  const minimumsOf = (platform: Platform) =>
    releases.flatMap((release) => (release.platform === platform && release.minimumSystemVersion) || []);
  return new Map(
    Platform.options.map((platform) => [platform, [...new Set(minimumsOf(platform))].sort(compareSystemVersions)]),
  );
}

/** The lowest minimum of each version's builds: any of them may be the one that is installed. */
function indexMinimumSystems(releases: readonly Release[]): Map<string, string | null> {
  const minimums = new Map<string, string | null>();
  for (const release of releases) {
    const key = versionKey(release, release.version);
    const [minimum, known] = [release.minimumSystemVersion, minimums.get(key)];
    if (known === undefined) minimums.set(key, minimum);
    else if (known !== null && (minimum === null || compareSystemVersions(minimum, known) < 0)) {
      minimums.set(key, minimum);
    }
  }
  return minimums;
}

function indexWithdrawn(releases: readonly Release[]): Map<string, Set<string>> {
  const withdrawn = releases.filter(({ yanked, rollout }) => yanked || rollout === 0);
  const versionsOf = (group: readonly Release[]) => new Set(group.map(({ version }) => version.version));
  return new Map([...groupBy(withdrawn, targetKey)].map(([target, group]) => [target, versionsOf(group)]));
}

/** The versions of a build target that are yanked or paused on some channel, without build metadata. */
export function withdrawnVersions({ withdrawnByTarget }: Snapshot, target: BuildTarget): ReadonlySet<string> {
  return withdrawnByTarget.get(targetKey(target)) ?? new Set();
}

/** Whether a version was published for some architecture, on any channel. It may be withdrawn. */
export function isPublished(
  { minimumSystemByVersion }: Snapshot,
  target: Omit<BuildTarget, "architecture">,
  version: SemVer,
): boolean {
  return minimumSystemByVersion.has(versionKey(target, version));
}

/** The oldest system on which a version can be installed; null if unknown. */
export function minimumSystemVersionOf(
  { minimumSystemByVersion }: Snapshot,
  target: BuildTarget,
  version: SemVer,
): string | null {
  return minimumSystemByVersion.get(versionKey(target, version)) ?? null;
}

function versionKey({ platform, product }: Omit<BuildTarget, "architecture">, { version }: SemVer): string {
  return `${platform}/${product} ${version}`;
}

/** The releases that a channel of a build target can receive: its own and the stable ones, newest first. */
export function channelReleases(
  { releasesByChannel }: Snapshot,
  selector: Record<SelectorName, string>,
): readonly Release[] {
  const target = targetKey(selector);
  return (
    releasesByChannel.get(`${target}/${selector.channel}`) ?? releasesByChannel.get(`${target}/stable`) ?? NO_RELEASES
  );
}

/** The releases of one version of a build target, build metadata included: at most one per channel. */
export function versionReleases(
  { releasesByVersion }: Snapshot,
  target: BuildTarget,
  version: SemVer,
): readonly Release[] {
  return releasesByVersion.get(`${targetKey(target)} ${formatVersion(version)}`) ?? NO_RELEASES;
}

/** One array for every target without releases, since caches are keyed by array. */
const NO_RELEASES: readonly Release[] = [];

function targetKey({ platform, product, architecture }: BuildTarget): string {
  return `${platform}/${product}/${architecture}`;
}

export function groupBy(releases: Iterable<Release>, keyOf: (release: Release) => string): Map<string, Release[]> {
  const groups = new Map<string, Release[]>();
  for (const release of releases) {
    const key = keyOf(release);
    const group = groups.get(key);
    if (group) group.push(release);
    else groups.set(key, [release]);
  }
  return groups;
}

/** Descending precedence (SemVer 2.0.0, item 11); of one version on two channels, stable comes first. */
function newestFirst(a: Release, b: Release): number {
  return compareBuild(b.version, a.version) || Number(b.channel === "stable") - Number(a.channel === "stable");
}

function assertUnique(releases: readonly Release[], describe: (release: Release) => string): void {
  const seen = new Set<string>();
  for (const release of releases) {
    const description = describe(release);
    if (seen.has(description)) throw new Error(`Two releases have ${description}`);
    seen.add(description);
  }
}

/** CFBundleVersion of another version of a release's app; undefined if it is unknown. Without one it is the version. */
export function findBuildVersion(snapshot: Snapshot, release: Release, version: SemVer): string | undefined {
  if (release.buildVersion === null) return formatVersion(version);
  const builds = versionReleases(snapshot, release, version);
  return builds.find(({ buildVersion }) => buildVersion !== null)?.buildVersion ?? undefined;
}

type Build = { buildVersion: string; version: SemVer };

/** What the releases of one product on one platform say about versions, yanked ones included. */
export type ProductVersions = {
  /** The distinct versions that releases require first, in ascending order. */
  required: readonly SemVer[];
  /** The releases with a build version, in ascending order of it. */
  builds: readonly Build[];
};

type Product = Pick<Release, "platform" | "product">;

const NO_VERSIONS: ProductVersions = { required: [], builds: [] };

/** Collects the versions by product and platform. Read by `productVersions`. */
function indexProductVersions(releases: readonly Release[]): Map<string, ProductVersions> {
  return new Map([...groupBy(releases, keyOf)].map(([key, own]) => [key, collect(own)]));
}

export function productVersions(index: ReadonlyMap<string, ProductVersions>, product: KeyOf): ProductVersions {
  return index.get(keyOf(product)) ?? NO_VERSIONS;
}

type KeyOf = Record<keyof Product, string>;

function keyOf({ platform, product }: KeyOf): string {
  return `${platform}/${product}`;
}

function collect(releases: readonly Release[]): ProductVersions {
  const required = releases.flatMap(({ requiresFrom }) => requiresFrom ?? []).sort((a, b) => a.compare(b));
  const builds = releases.flatMap(({ buildVersion, version }) =>
    buildVersion === null ? [] : { buildVersion, version },
  );
  return {
    required: required.filter((version, i) => i === 0 || version.compare(required[i - 1] ?? "") !== 0),
    builds: builds.sort((a, b) => compareSystemVersions(a.buildVersion, b.buildVersion)),
  };
}
