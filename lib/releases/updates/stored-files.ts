import { AppError } from "../../errors";
import { perObject } from "../../platform/per-object";
import type { Caching } from "../../platform/response-content";
import { groupBy, type Snapshot } from "../catalog/snapshot";
import type { UpdateParams } from "../http-schema";
import { parsePlatform } from "../platforms";
import { type ServedFile, servedFiles } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";

export type FoundFile = { release: Release; artifact: ServedFile; caching: Caching };
type Entry = Pick<FoundFile, "release" | "artifact">;

/** The files of each product by name. A new catalog has a new index. */
const indexOf = perObject(indexFiles);

/** `1.2.0/windows-x64/Setup.exe`: electron-updater reads the architecture in this path, and replaces the version. */
export function storedFilePath(
  { version, platform, architecture }: Release,
  { fileName }: Pick<Artifact, "fileName">,
): string {
  const segments = [formatVersion(version), `${platform}-${architecture}`, fileName];
  // A + is allowed in paths (RFC 3986, 3.3), and electron-updater looks for the version as it is.
  return segments.map((segment) => encodeURIComponent(segment).replaceAll("%2B", "+")).join("/");
}

/** Makes the absolute and permanent URLs of releases' files, for updaters that do not resolve relative ones. */
export function storedFileUrls(baseUrl: string): (release: Release, file: Pick<Artifact, "fileName">) => string {
  return (release, file) =>
    `${baseUrl}/api/updates/${release.product}/${release.channel}/${storedFilePath(release, file)}`;
}

/**
 * Finds a file by its name, and by version and build target if given, on the channel, on stable or on another one, whatever
 * its rollout: an app on beta may request beta.yml and its files below the URL of stable. Of files with one name, that of
 * `architecture` counts. @throws AppError release_not_found
 */
export function findStoredFile(
  snapshot: Snapshot,
  { product, channel, file }: UpdateParams,
  architecture?: string,
): FoundFile {
  const { fileName, target, version } = parsePath(file);
  const found = entriesOf(snapshot, product, fileName).filter(
    ({ release }) =>
      (version === undefined || formatVersion(release.version) === version) &&
      (target === undefined || isTarget(release, target)),
  );
  const ofChannel = (name: string) => found.filter(({ release }) => release.channel === name);
  const [own, stable] = [ofChannel(channel), ofChannel("stable")];
  const named = [own, stable].find(({ length }) => length > 0) ?? found;
  const ofArchitecture = named.filter(({ release }) => release.architecture === architecture);
  const candidates = ofArchitecture.length > 0 ? ofArchitecture : named;
  const [first] = candidates;
  if (!first) throw new AppError("release_not_found");
  if (candidates.some(({ artifact }) => artifact.sha256 !== first.artifact.sha256)) {
    const detail = "Several releases have a file of this name. Request {version}/{platform}-{architecture}/{file}.";
    throw new AppError("release_not_found", { detail });
  }
  const isPinned = target !== undefined && own.length > 0;
  return { ...first, caching: first.release.sample ? "never" : isPinned ? "immutable" : "shared" };
}

function parsePath(file: readonly string[]): { fileName: string; target?: string; version?: string } {
  const [a = "", b, c, ...rest] = file;
  if (rest.length > 0) throw new AppError("release_not_found");
  if (b === undefined) return { fileName: a };
  return c === undefined ? { version: a, fileName: b } : { version: a, target: b, fileName: c };
}

function isTarget({ platform, architecture }: Release, target: string): boolean {
  const dash = target.indexOf("-");
  return parsePlatform(target.slice(0, dash)) === platform && target.slice(dash + 1) === architecture;
}

function entriesOf(snapshot: Snapshot, product: string, fileName: string): readonly Entry[] {
  return indexOf(snapshot).get(keyOf(product, fileName)) ?? [];
}

function indexFiles({ releasesByVersion }: Snapshot): Map<string, Entry[]> {
  const releases = [...releasesByVersion.values()].flat();
  const entries = releases.flatMap((release) => servedFiles(release).map((artifact) => ({ release, artifact })));
  return groupBy(entries, ({ release, artifact }) => keyOf(release.product, artifact.fileName));
}

function keyOf(product: string, fileName: string): string {
  return `${product}/${fileName}`;
}
