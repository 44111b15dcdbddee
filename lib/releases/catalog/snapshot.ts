import { compareBuild, type SemVer } from "semver";
import { withheldAppcasts } from "../formats/signed-appcast";
import { BUILT_IN_ARCHITECTURES, compareSystemVersions, Platform } from "../platforms";
import { completeFiles } from "../release-files";
import { formatVersion, type Release } from "../schema";

/** The query parameters that select releases. */
export type SelectorName = "platform" | "product" | "architecture" | "channel";

type Product = Pick<Record<SelectorName, string>, "platform" | "product">;
type BuildTarget = Product & { architecture: string };

/** One valid catalog, indexed. Immutable: a changed manifest makes a new snapshot. */
export type Snapshot = {
  /** The catalog's folder with symbolic links resolved; null if the catalog has none. */
  root: string | null;
  releases: readonly Release[];
  knownValues: Readonly<Record<SelectorName, ReadonlySet<string>>>;
  /** The releases that a channel of a build target can receive, newest first. Read by `channelReleases`. */
  releasesByChannel: ReadonlyMap<string, readonly Release[]>;
  /** The releases of one version of a build target, on any channel. Read by `versionReleases`. */
  releasesByVersion: ReadonlyMap<string, readonly Release[]>;
  /** The distinct minimum system versions of each platform, in ascending order. */
  minimumSystemVersions: ReadonlyMap<string, readonly string[]>;
  /** The minimum system version of each published version, yanked ones included. Read by `minimumSystemVersionOf`. */
  minimumSystemByVersion: ReadonlyMap<string, string | null>;
  /** Read by `productVersions`. */
  versionsByProduct: ReadonlyMap<string, ProductVersions>;
};

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
  const withheld = withheldAppcasts(releases);
  const servable = releases
    .filter((release) => !release.yanked && !(release.sample && hasRealReleases) && completeFiles(release).length > 0)
    .map((release) => (withheld.has(release) ? withoutAppcast(release) : release));
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
    versionsByProduct: new Map([...groupBy(releases, productKey)].map(([key, own]) => [key, collectVersions(own)])),
  };
}

const withoutAppcast = (release: Release): Release => ({
  ...release,
  signedDocuments: { ...release.signedDocuments, sparkle: null },
});

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

/** The oldest system on which a version of some architecture can be installed, withdrawn or not; undefined if it is unknown. */
export function minimumSystemVersionOf(
  { minimumSystemByVersion }: Snapshot,
  target: Product,
  version: SemVer,
): string | null | undefined {
  return minimumSystemByVersion.get(versionKey(target, version));
}

function versionKey(product: Product, { version }: SemVer): string {
  return `${productKey(product)} ${version}`;
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
export function versionReleases({ releasesByVersion }: Snapshot, target: BuildTarget, version: SemVer) {
  return releasesByVersion.get(`${targetKey(target)} ${formatVersion(version)}`) ?? NO_RELEASES;
}

/** One array for every target without releases, since caches are keyed by array. */
const NO_RELEASES: readonly Release[] = [];

function targetKey({ platform, product, architecture }: BuildTarget): string {
  return `${platform}/${product}/${architecture}`;
}

export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
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

/** What the releases of one product on one platform say about versions, yanked ones included. */
export type ProductVersions = {
  /** The distinct versions that releases require first, in ascending order. */
  required: readonly SemVer[];
  /** The releases with a build version, in ascending order of it. */
  builds: readonly { buildVersion: string; version: SemVer }[];
};

const NO_VERSIONS: ProductVersions = { required: [], builds: [] };

export function productVersions({ versionsByProduct }: Snapshot, product: Product): ProductVersions {
  return versionsByProduct.get(productKey(product)) ?? NO_VERSIONS;
}

function productKey({ platform, product }: Product): string {
  return `${platform}/${product}`;
}

function collectVersions(releases: readonly Release[]): ProductVersions {
  const required = releases.flatMap(({ requiresFrom }) => requiresFrom ?? []).sort((a, b) => a.compare(b));
  const builds = releases.flatMap(({ buildVersion, version }) =>
    buildVersion === null ? [] : { buildVersion, version },
  );
  return {
    required: required.filter((version, i) => i === 0 || version.compare(required[i - 1] ?? "") !== 0),
    builds: builds.sort((a, b) => compareSystemVersions(a.buildVersion, b.buildVersion)),
  };
}
