import { compareBuild } from "semver";
import type { Context } from "../context";
import { downloadUrl } from "./address";
import type { Snapshot } from "./catalog/snapshot";
import { type Platform, type Release, versionText } from "./schema";

/** One installer as people choose it; `href` is pinned to the version. */
export type Installer = {
  id: string;
  isSample: boolean;
  version: string;
  channel: string;
  releasedAt: Date;
  /** Markdown. */
  notes: string;
  notesUrl: string | null;
  minimumSystemVersion: string | null;
  fileName: string;
  sizeBytes: number;
  /** Hexadecimal. */
  sha256: string;
  href: string;
};

/** The installers of one product on one platform and architecture, newest first. */
export type Shelf = {
  platform: Platform;
  product: string;
  architecture: string;
  /** The newest stable one; null where there are others alone. */
  newest: Installer | null;
  /** Older ones, and those of other channels. */
  others: Installer[];
};

const MOST_OTHERS = 20;

const shelves = new WeakMap<Snapshot, Shelf[]>();

/**
 * What can be downloaded, by product, platform and architecture: of each the newest stable installer and at most
 * twenty others. What is being rolled out is left out. null while there is no catalog.
 */
export function listInstallers({ catalog }: Pick<Context, "catalog">): Shelf[] | null {
  const snapshot = catalog.current();
  if (!snapshot) return null;
  const known = shelves.get(snapshot) ?? fillShelves(snapshot);
  shelves.set(snapshot, known);
  return known;
}

function fillShelves({ index }: Snapshot): Shelf[] {
  const places = new Map<string, Release[]>();
  for (const release of new Set([...index.values()].flat())) {
    if (release.rollout < 100 || !release.artifacts.installer) continue;
    const place = `${release.product} ${release.platform} ${release.architecture}`;
    const there = places.get(place);
    if (there) there.push(release);
    else places.set(place, [release]);
  }
  return [...places].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, releases]) => fillShelf(releases));
}

function fillShelf(releases: Release[]): Shelf[] {
  const ordered = releases.sort((a, b) => compareBuild(b.version, a.version));
  const newest = ordered.find(({ channel }) => channel === "stable");
  const others = ordered.filter((release) => release !== newest).slice(0, MOST_OTHERS);
  return ordered.slice(0, 1).map(({ platform, product, architecture }) => ({
    platform,
    product,
    architecture,
    newest: (newest && toInstaller(newest)) ?? null,
    others: others.flatMap((release) => toInstaller(release) ?? []),
  }));
}

function toInstaller(release: Release): Installer | null {
  const artifact = release.artifacts.installer;
  if (!artifact) return null;
  const { id, channel, releasedAt, notes, notesUrl, minimumSystemVersion } = release;
  const { fileName, sizeBytes, sha256 } = artifact;
  const about = { id, channel, releasedAt, notes, notesUrl, minimumSystemVersion, fileName, sizeBytes, sha256 };
  return {
    ...about,
    isSample: release.sample,
    version: versionText(release.version),
    href: downloadUrl("", release, "installer"),
  };
}
