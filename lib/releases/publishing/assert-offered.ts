import { AppError } from "../../errors";
import { indexReleases } from "../catalog/snapshot";
import { COMMON_BUILDS, VELOPACK_SYSTEMS } from "../platforms";
import { releaseFiles } from "../release-files";
import type { Release } from "../schema";
import { candidateLists } from "../selection/select-release";
import { parseVelopackName, squirrelPackageId } from "../updates/nupkg";
import { findVelopackReleases } from "../updates/velopack-releases";

/**
 * Computes the feeds that the clients of packages will request, and refuses a release that none of them can name: no
 * app would find it. The rollout does not count, since it may start later.
 * @throws AppError
 */
export function assertOffered(release: Release, releases: readonly Release[]): void {
  const full = releaseFiles(release).filter(({ fileName }) => fileName.endsWith("-full.nupkg"));
  if (full.length === 0) return;
  const reachable = { ...release, rollout: 100, requiresFrom: null };
  const all = releases.map((one) => (one.id === release.id ? reachable : one));
  const snapshot = indexReleases("/", all);
  const { product, channel, platform, architecture } = release;
  const asked = { snapshot, product, channel, clientId: undefined, current: undefined };
  // A client sends its system's architecture.
  const query = { arch: architecture === "universal" ? undefined : architecture, os: VELOPACK_SYSTEMS[platform] };
  for (const { fileName } of full) {
    const isSquirrel = platform === "windows" && squirrelPackageId(fileName, release.version, "full") !== null;
    if (isSquirrel && COMMON_BUILDS.windows.includes(architecture)) continue; // RELEASES names it
    const own = parseVelopackName(fileName, release.version, "full");
    const name = own?.channel ?? VELOPACK_SYSTEMS[platform];
    const found = own ? findVelopackReleases({ ...asked, query }, name) : [];
    const lists = found.flatMap(({ selector }) => candidateLists(snapshot, selector));
    if (lists.some((list) => list.includes(reachable))) continue;
    const feed = own ? `releases.${name}.json` : "RELEASES";
    throw new AppError(
      "release_invalid",
      `Apps with ${fileName} request ${feed}, which would never name a release of the channel ${channel} for ${platform} ${architecture}: choose another --channel or --arch, or build it with the channel ${VELOPACK_SYSTEMS[platform]}.`,
    );
  }
}
