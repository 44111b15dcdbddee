import { compareBuild } from "semver";
import { perObject } from "../platform/per-object";
import type { Catalog } from "./catalog/catalog";
import { groupBy, type Snapshot } from "./catalog/snapshot";
import type { Platform } from "./platforms";
import { downloadUrl } from "./release-files";
import { type Artifact, formatVersion, type PublishedBy, type Release } from "./schema";
import { type FileType, fileTypeOf } from "./selection/file-types";

/** One file that people install. `href` is pinned to the version. `type` null: a type that is not known. */
export type InstallerFile = {
  fileName: string;
  type: FileType | null;
  sizeBytes: number;
  /** Hexadecimal. */
  sha256: string;
  href: string;
};

/** The installer of one release on the download page, in one or several formats. `notes` are Markdown. */
export type Installer = InstallerFile &
  Pick<Release, "id" | "channel" | "releasedAt" | "notes" | "notesUrl" | "minimumSystemVersion"> & {
    isSample: boolean;
    version: string;
    /** The build that a CI job has published; null if nobody says it. */
    source: PublishedBy["source"];
    otherFormats: InstallerFile[];
  };

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

const groupsOf = perObject(groupInstallers);

/** The installers by product, platform and architecture, without partial rollouts. null while there is no catalog. */
export function listInstallers({ catalog }: { catalog: Catalog }): InstallerGroup[] | null {
  const snapshot = catalog.current();
  return snapshot && groupsOf(snapshot);
}

function groupInstallers({ releasesByChannel }: Snapshot): InstallerGroup[] {
  const all = new Set([...releasesByChannel.values()].flat());
  const shown = [...all].filter((release) => release.rollout === 100 && filesForPeople(release).length > 0);
  const targets = groupBy(shown, (release) => `${release.product} ${release.platform} ${release.architecture}`);
  return [...targets].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, releases]) => toGroup(releases));
}

function toGroup(releases: Release[]): InstallerGroup[] {
  const ordered = releases.sort((a, b) => compareBuild(b.version, a.version));
  const latest = ordered.find(({ channel }) => channel === "stable");
  const others = ordered.filter((release) => release !== latest).slice(0, MAX_OTHER_INSTALLERS);
  const installers = {
    latest: (latest && toInstaller(latest)) ?? null,
    others: others.flatMap((one) => toInstaller(one) ?? []),
  };
  return ordered
    .slice(0, 1)
    .map(({ platform, product, architecture }) => ({ platform, product, architecture, ...installers }));
}

function toInstaller(release: Release): Installer | null {
  const [file, ...otherFormats] = filesForPeople(release).map((artifact) => toFile(release, artifact));
  if (!file) return null;
  const { id, sample, channel, releasedAt, notes, notesUrl, minimumSystemVersion } = release;
  const shown = { id, channel, releasedAt, notes, notesUrl, minimumSystemVersion };
  const source = release.publishedBy?.source ?? null;
  return { ...file, ...shown, source, otherFormats, isSample: sample, version: formatVersion(release.version) };
}

/** The installer and the other files that people install; on Linux the AppImage first, as `/api/download` does. */
function filesForPeople({ platform, artifacts: { installer, others } }: Release): Artifact[] {
  const files = [installer, ...others.filter((artifact) => fileTypeOf(artifact) !== null)].filter(
    (file) => file !== undefined,
  );
  const isFirst = (artifact: Artifact) => platform === "linux" && fileTypeOf(artifact) === "appimage";
  return [...files.filter(isFirst), ...files.filter((artifact) => !isFirst(artifact))];
}

function toFile(release: Release, artifact: Artifact): InstallerFile {
  const { fileName, sizeBytes, sha256 } = artifact;
  return { fileName, type: fileTypeOf(artifact), sizeBytes, sha256, href: downloadUrl("", release, artifact) };
}
