import { parse as parseVersion } from "semver";
import { AppError } from "../../errors";
import { isAccessible, type WithAccess } from "../access";
import { normalizeArchitecture, parsePlatform } from "../platforms";
import { formatVersion, type Release } from "../schema";
import { invalidRelease } from "./invalid-release";
import type { ReleasesFilter } from "./schema";

/** A release of the catalog, or its document. */
type Selectable = Pick<Release, "id" | "product" | "platform" | "architecture" | "channel"> & {
  version: Release["version"] | string;
};

/**
 * The releases that a command changes.
 * @throws AppError release_not_found if the filter, an id or a version matches nothing; release_invalid if the filter
 *   is too wide
 */
export function selectReleases<T extends Selectable>(releases: readonly T[], filter: WithAccess<ReleasesFilter>): T[] {
  const { ids = [], product, version } = filter;
  const matching = filterReleases(releases, filter);
  if (ids.length > 0) return [...new Set(ids.flatMap((id) => selectByIdOrVersion(matching, id)))];
  if (product === undefined || version === undefined) {
    throw invalidRelease("Select a release by its id or version, or by --product and --version.");
  }
  return matching.length > 0 ? matching : notFound("that matches these options");
}

function selectByIdOrVersion<T extends Selectable>(matching: readonly T[], idOrVersion: string): T[] {
  const byId = matching.find(({ id }) => id === idOrVersion);
  if (byId) return [byId];
  if (!parseVersion(idOrVersion)) return notFound(`with id ${idOrVersion}`);
  const byVersion = filterReleases(matching, { version: idOrVersion });
  const products = [...new Set(byVersion.map(({ product }) => product))];
  if (products.length > 1) {
    throw invalidRelease(`Version ${idOrVersion} exists in ${products.join(" and ")}: select one with --product.`);
  }
  return byVersion.length > 0 ? byVersion : notFound(`with version ${idOrVersion}`);
}

/** The releases that match the filter's fields; all of them without fields. Ignores `ids`. */
export function filterReleases<T extends Selectable>(releases: readonly T[], filter: WithAccess<ReleasesFilter>): T[] {
  const { product, version, platform, architecture, channel, access } = filter;
  const expected = {
    product,
    platform: platform && (parsePlatform(platform) ?? platform),
    architecture: architecture && normalizeArchitecture(architecture),
    channel,
    version: version && normalizeVersion(version),
  };
  return releases.filter((release) => {
    if (!isAccessible(access, release)) return false;
    const { version: own } = release;
    const actual = { ...release, version: typeof own === "string" ? own : formatVersion(own) };
    return (Object.keys(expected) as (keyof typeof expected)[]).every(
      (name) => expected[name] === undefined || expected[name] === actual[name],
    );
  });
}

function normalizeVersion(version: string): string {
  const parsed = parseVersion(version);
  return parsed ? formatVersion(parsed) : version;
}

function notFound(description: string): never {
  throw new AppError(
    "release_not_found",
    `There is no release ${description}: list them with \`homeport release list\`.`,
  );
}
