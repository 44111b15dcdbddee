import { compareBuild, parse as parseVersion } from "semver";
import { formatVersion, normalizeArchitecture, type Release } from "../../releases/schema";
import { parsePlatform } from "../../releases/selection/release-selector";
import { changeManifest, type ManifestEntry, PublishingError } from "./manifest-file";

/** Releases by their ids, or all that a product, a version and perhaps more describe; where both are said both hold. */
export type ReleaseFilter = {
  ids?: readonly string[] | undefined;
  product?: string | undefined;
  version?: string | undefined;
  platform?: string | undefined;
  architecture?: string | undefined;
  channel?: string | undefined;
};

/** Members that may change after a release was published. */
export type ReleaseChange = Partial<Pick<Release, "yanked" | "rollback" | "critical" | "rollout">>;

/**
 * Changes releases that are published already, all in one write. Returns their ids.
 * @throws PublishingError where one is not there.
 */
export async function updateReleases(
  manifestFile: string,
  which: ReleaseFilter,
  change: ReleaseChange,
): Promise<string[]> {
  return changeManifest(manifestFile, ({ entries, releases }) => {
    const chosen = chooseReleases(releases, which);
    const isDone = (release: Release) =>
      Object.entries(change).every(([name, value]) => release[name as never] === value);
    const amend = (entry: ManifestEntry, release: Release | undefined) =>
      release && chosen.includes(release) && !isDone(release) ? { ...entry, ...change } : entry;
    const next = entries.map((entry, i) => amend(entry, releases[i]));
    const isSame = next.every((entry, i) => entry === entries[i]);
    return { entries: isSame ? entries : next, result: chosen.map(({ id }) => id) };
  });
}

/** The releases that are meant. @throws PublishingError where one is not there, or too little is said. */
function chooseReleases(releases: readonly Release[], which: ReleaseFilter): Release[] {
  const { ids = [], product, version } = which;
  const fitting = filterReleases(releases, which);
  if (ids.length > 0) return ids.map((id) => fitting.find((one) => one.id === id) ?? missing(`with the id ${id}`));
  if (product === undefined || version === undefined) {
    throw new PublishingError("Which release? Name its id, or --product and --version.");
  }
  return fitting.length > 0 ? fitting : missing("like that");
}

/** The releases that fit what is said of them; all where nothing is. */
export function filterReleases(releases: readonly Release[], { product, version, ...rest }: ReleaseFilter): Release[] {
  const wanted = {
    product,
    platform: rest.platform && (parsePlatform(rest.platform) ?? rest.platform),
    architecture: rest.architecture && normalizeArchitecture(rest.architecture),
    channel: rest.channel,
    version: version && textOf(version),
  };
  return releases.filter((release) => {
    const own = { ...release, version: formatVersion(release.version) };
    return (Object.keys(wanted) as (keyof typeof wanted)[]).every((name) => (wanted[name] ?? own[name]) === own[name]);
  });
}

/**
 * The ids of what is newer than one of these on its channel, still served to somebody, and for the same computers: a
 * universal build is for all of them.
 */
export function findNewerServedReleases(releases: readonly Release[], ids: readonly string[]): string[] {
  const placeOf = ({ product, platform, channel }: Release) => [product, platform, channel].join("/");
  const areForSameComputers = (one: Release, other: Release) =>
    one.architecture === other.architecture || [one.architecture, other.architecture].includes("universal");
  const older = releases.filter(({ id }) => ids.includes(id));
  const isAhead = (one: Release) =>
    older.some(
      (other) =>
        placeOf(one) === placeOf(other) &&
        areForSameComputers(one, other) &&
        compareBuild(one.version, other.version) > 0,
    );
  return releases.filter((one) => !one.yanked && one.rollout > 0 && isAhead(one)).map(({ id }) => id);
}

function textOf(version: string): string {
  const parsed = parseVersion(version);
  return parsed ? formatVersion(parsed) : version;
}

function missing(what: string): never {
  throw new PublishingError(`There is no release ${what}: \`npm run release -- list\` shows them all.`);
}
