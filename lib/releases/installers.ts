import { compareBuild } from "semver";
import type { Snapshot } from "./catalog/snapshot";
import type { Catalog } from "./catalog/watch";
import { downloadUrl } from "./download-url";
import { formatVersion, type Platform, type Release } from "./schema";

/** One installer of the download page. `href` is pinned to the version. */
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

/** The installers of one product on one platform and architecture. */
export type InstallerGroup = {
  platform: Platform;
  product: string;
  architecture: string;
  /** The newest stable installer; null if the group has none. */
  latest: Installer | null;
  /** Older installers and those of other channels, newest first. */
  others: Installer[];
};

const MAX_OTHER_INSTALLERS = 20;

const groupsBySnapshot = new WeakMap<Snapshot, InstallerGroup[]>();

/**
 * Lists the installers by product, platform and architecture: the newest stable one and at most 20 others of each.
 * Releases with a partial rollout are left out. Returns null while there is no catalog.
 */
export function listInstallers({ catalog }: { catalog: Catalog }): InstallerGroup[] | null {
  const snapshot = catalog.current();
  if (!snapshot) return null;
  const groups = groupsBySnapshot.get(snapshot) ?? groupInstallers(snapshot);
  groupsBySnapshot.set(snapshot, groups);
  return groups;
}

function groupInstallers({ releasesByChannel }: Snapshot): InstallerGroup[] {
  const releasesByTarget = new Map<string, Release[]>();
  for (const release of new Set([...releasesByChannel.values()].flat())) {
    if (release.rollout < 100 || !release.artifacts.installer) continue;
    const key = `${release.product} ${release.platform} ${release.architecture}`;
    const group = releasesByTarget.get(key);
    if (group) group.push(release);
    else releasesByTarget.set(key, [release]);
  }
  return [...releasesByTarget].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, releases]) => toGroup(releases));
}

function toGroup(releases: Release[]): InstallerGroup[] {
  const ordered = releases.sort((a, b) => compareBuild(b.version, a.version));
  const latest = ordered.find(({ channel }) => channel === "stable");
  const others = ordered.filter((release) => release !== latest).slice(0, MAX_OTHER_INSTALLERS);
  return ordered.slice(0, 1).map(({ platform, product, architecture }) => ({
    platform,
    product,
    architecture,
    latest: (latest && toInstaller(latest)) ?? null,
    others: others.flatMap((release) => toInstaller(release) ?? []),
  }));
}

function toInstaller(release: Release): Installer | null {
  const artifact = release.artifacts.installer;
  if (!artifact) return null;
  return {
    id: release.id,
    isSample: release.sample,
    version: formatVersion(release.version),
    channel: release.channel,
    releasedAt: release.releasedAt,
    notes: release.notes,
    notesUrl: release.notesUrl,
    minimumSystemVersion: release.minimumSystemVersion,
    fileName: artifact.fileName,
    sizeBytes: artifact.sizeBytes,
    sha256: artifact.sha256,
    href: downloadUrl("", release, artifact),
  };
}
