import { isAppError } from "../../errors";
import { perObject } from "../../platform/per-object";
import { indexReleases, type Snapshot, versionReleases } from "../catalog/snapshot";
import { comparesKernelVersion, kernelVersion } from "../formats/electron";
import { compareSystemVersions } from "../platforms";
import { formatVersion, type Release, type SignedManifest, type SignedUpdater } from "../schema";
import { parseUpdateManifest, type UpdateManifest } from "../update-manifest";
import { findStoredFile } from "./stored-files";

/** The feed's base URL, for the paths of the files. */
const BASE = "https://feed.invalid/api/updates/product/channel/";

const parsedManifestOf = perObject(({ text }: SignedManifest): UpdateManifest => parseUpdateManifest(text));

/** The signed manifest of a release, which was checked when the catalog was loaded; null: it has none. */
export function manifestOf({ signedDocuments: { electron } }: Release): UpdateManifest | null {
  return electron ? parsedManifestOf(electron) : null;
}

/**
 * The builds that a signed manifest names: releases of the same version on the same channel or on stable. `channel`: in the
 * feed's URL, below which an app looks for the files.
 * @throws Error that names a file that is not there or not offered
 */
export function namedBuilds(snapshot: Snapshot, release: Release, channel: string): Release[] {
  const { product, platform, version } = release;
  const { files = [], packages } = manifestOf(release) ?? {};
  // electron-updater would download them from any URL that the manifest names.
  if (Object.keys(packages ?? {}).length > 0) throw new Error("it names packages of the target nsis-web: use nsis");
  const builds = files.map(({ url, sha512, size }) => {
    const file = pathBelowFeed(url);
    const found = file && findFile(snapshot, { product, channel, file });
    if (!found) throw new Error(`${url} is not the name of one file below the feed's URL`);
    const { artifact, release: one } = found;
    const isSame = artifact.sha512 === sha512 && (size == null || artifact.sizeBytes === size);
    if (!isSame || one.platform !== platform) throw new Error(`${url} is another file in ${one.id}`);
    const { architecture } = one;
    const offered = versionReleases(snapshot, { platform, product, architecture }, version);
    const build =
      offered.find((other) => other.channel === release.channel) ?? offered.find((other) => other.channel === "stable");
    if (!build) throw new Error(`${url} is of ${architecture}, which has no such release`);
    return build;
  });
  if (builds.some(({ architecture }) => architecture === release.architecture)) return builds;
  throw new Error(`it names no file for ${release.architecture}`);
}

function pathBelowFeed(url: string): string[] | null {
  if (!URL.canParse(url, BASE)) return null;
  const { href } = new URL(url, BASE);
  try {
    return href.startsWith(BASE) ? href.slice(BASE.length).split("/").map(decodeURIComponent) : null;
  } catch {
    return null;
  }
}

function findFile(snapshot: Snapshot, target: Parameters<typeof findStoredFile>[1]) {
  try {
    return findStoredFile(snapshot, target);
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

/** By product and channel, of which a catalog has a bounded number. */
const offeredOf = perObject((_snapshot: Snapshot) => new Map<string, Snapshot>());

/**
 * The releases of a product as electron-updater can get them. A signed manifest offers all builds that it names or none of
 * them: it has their lowest rollout and their highest minimum, and is left out while one of them is not served.
 */
export function withSignedManifests(snapshot: Snapshot, product: string, channel: string): Snapshot {
  const known = offeredOf(snapshot);
  const key = `${product}/${channel}`;
  const made = known.get(key) ?? offeredSnapshot(snapshot, product, channel);
  known.set(key, made);
  return made;
}

function offeredSnapshot(snapshot: Snapshot, product: string, channel: string): Snapshot {
  const own = snapshot.releases.filter((release) => release.product === product && !release.sample);
  if (own.every(({ signedDocuments }) => signedDocuments.electron === undefined)) return snapshot;
  return indexReleases(
    snapshot.root,
    own.flatMap((release) => {
      const { signedDocuments, yanked } = release;
      if (yanked || signedDocuments.electron === undefined) return release;
      return signedDocuments.electron === null ? [] : (withNamedBuilds(snapshot, release, channel) ?? []);
    }),
  );
}

function withNamedBuilds(snapshot: Snapshot, release: Release, channel: string): Release | null {
  try {
    const builds = [release, ...namedBuilds(snapshot, release, channel)];
    const minimums = builds.flatMap(({ minimumSystemVersion }) => minimumSystemVersion ?? []);
    return {
      ...release,
      rollout: Math.min(...builds.map(({ rollout }) => rollout)),
      minimumSystemVersion: minimums.sort(compareSystemVersions).at(-1) ?? null,
    };
  } catch {
    return null; // withdrawn or removed
  }
}

/**
 * The updaters that are not offered a release which others are: its signed document is damaged, or offers more than what is
 * served.
 */
export function withheldUpdaters(snapshot: Snapshot, release: Release): SignedUpdater[] {
  const findIn = (one: Snapshot) => versionReleases(one, release, release.version).find(({ id }) => id === release.id);
  const { electron, sparkle } = findIn(snapshot)?.signedDocuments ?? {};
  const forElectron = () => withSignedManifests(snapshot, release.product, release.channel);
  return [
    ...(electron !== undefined && !findIn(forElectron()) ? (["electron"] as const) : []),
    ...(sparkle === null ? (["sparkle"] as const) : []),
  ];
}

/** By the releases of a catalog: a new one has a new array. */
const installedManifestsOf = perObject((releases: readonly Release[]) => {
  const signed = releases.filter(({ signedDocuments }) => signedDocuments.electron).reverse(); // the first one counts
  return new Map(signed.map((release) => [keyOf(release), release.signedDocuments.electron?.text ?? ""]));
});

type Target = Pick<Release, "product" | "platform" | "version">;
const keyOf = ({ product, platform, version }: Target) => `${product} ${platform} ${formatVersion(version)}`;

/** The signed manifest of a version that may have been withdrawn since. */
export function findInstalledManifest({ releases }: Snapshot, target: Target): string | undefined {
  return installedManifestsOf(releases).get(keyOf(target));
}

/** Whether electron-updater itself rejects a release that needs a newer system: a signed manifest has its own minimum. */
export function comparesSignedMinimum(release: Release): boolean {
  const { platform, minimumSystemVersion: minimum } = release;
  const manifest = manifestOf(release);
  if (manifest === null || minimum === null) return comparesKernelVersion(release);
  const [kernel, signed] = [kernelVersion(platform, minimum), manifest.minimumSystemVersion];
  const isSigned = kernel !== null && !!signed && compareSystemVersions(signed, kernel) >= 0;
  return isSigned && comparesKernelVersion(release);
}
