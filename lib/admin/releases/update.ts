import { compareBuild, parse as parseVersion } from "semver";
import { formatVersion, normalizeArchitecture, type Release } from "../../releases/schema";
import { parsePlatform } from "../../releases/selection/release-selector";
import { changeManifest, type ManifestEntry } from "./manifest/manifest-file";
import { PublishingError } from "./manifest/publishing-error";

/** Selects releases by id, by fields, or by both. */
export type ReleaseFilter = {
  ids?: readonly string[] | undefined;
  product?: string | undefined;
  version?: string | undefined;
  platform?: string | undefined;
  architecture?: string | undefined;
  channel?: string | undefined;
};

/** Fields that may change after a release is published. */
export type ReleaseChange = Partial<Pick<Release, "yanked" | "rollback" | "critical" | "rollout">>;

/**
 * Changes published releases in one write. Returns their ids.
 * @throws PublishingError if the filter matches none, or an id does not exist
 */
export async function updateReleases(
  manifestFile: string,
  filter: ReleaseFilter,
  change: ReleaseChange,
): Promise<string[]> {
  return changeManifest(manifestFile, ({ entries, releases }) => {
    const matching = findReleases(releases, filter);
    const needsChange = (release: Release) =>
      Object.entries(change).some(([name, value]) => release[name as keyof ReleaseChange] !== value);
    const apply = (entry: ManifestEntry, release: Release | undefined) =>
      release && matching.includes(release) && needsChange(release) ? { ...entry, ...change } : entry;
    const next = entries.map((entry, i) => apply(entry, releases[i]));
    const isUnchanged = next.every((entry, i) => entry === entries[i]);
    return { entries: isUnchanged ? entries : next, result: matching.map(({ id }) => id) };
  });
}

/** @throws PublishingError if the filter is too wide, or matches nothing */
function findReleases(releases: readonly Release[], filter: ReleaseFilter): Release[] {
  const { ids = [], product, version } = filter;
  const matching = filterReleases(releases, filter);
  if (ids.length > 0)
    return ids.map((id) => matching.find((release) => release.id === id) ?? notFound(`with id ${id}`));
  if (product === undefined || version === undefined) {
    throw new PublishingError("Select a release by its id, or by --product and --version.");
  }
  return matching.length > 0 ? matching : notFound("that matches these options");
}

/** The releases that match the filter's fields; all of them without fields. Ignores `ids`. */
export function filterReleases(releases: readonly Release[], filter: ReleaseFilter): Release[] {
  const { product, version, platform, architecture, channel } = filter;
  const expected = {
    product,
    platform: platform && (parsePlatform(platform) ?? platform),
    architecture: architecture && normalizeArchitecture(architecture),
    channel,
    version: version && normalizeVersion(version),
  };
  return releases.filter((release) => {
    const actual = { ...release, version: formatVersion(release.version) };
    return (Object.keys(expected) as (keyof typeof expected)[]).every(
      (name) => expected[name] === undefined || expected[name] === actual[name],
    );
  });
}

/**
 * The ids of releases that are newer than one of `ids` on its channel, still served to some clients, and for the same
 * computers. A universal build is for every architecture.
 */
export function findNewerServedReleases(releases: readonly Release[], ids: readonly string[]): string[] {
  const streamOf = ({ product, platform, channel }: Release) => [product, platform, channel].join("/");
  const shareComputers = (a: Release, b: Release) =>
    a.architecture === b.architecture || [a.architecture, b.architecture].includes("universal");
  const older = releases.filter(({ id }) => ids.includes(id));
  const isNewer = (release: Release) =>
    older.some(
      (other) =>
        streamOf(release) === streamOf(other) &&
        shareComputers(release, other) &&
        compareBuild(release.version, other.version) > 0,
    );
  return releases.filter((release) => !release.yanked && release.rollout > 0 && isNewer(release)).map(({ id }) => id);
}

function normalizeVersion(version: string): string {
  const parsed = parseVersion(version);
  return parsed ? formatVersion(parsed) : version;
}

function notFound(description: string): never {
  throw new PublishingError(
    `There is no release ${description}: list them with \`npm run release -- list\`.`,
    "release_not_found",
  );
}
