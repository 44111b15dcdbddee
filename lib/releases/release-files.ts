import { type Artifact, ArtifactKind, type Delta, formatVersion, type Release, type StoredFile } from "./schema";

type WithArtifacts = Pick<Release, "artifacts">;

/** The complete files of a release in the order in which an updater may choose: the update, the installer, the others. */
export function completeFiles({ artifacts: { update, installer, others } }: WithArtifacts): Artifact[] {
  return [update, installer, ...others].filter((artifact) => artifact !== undefined);
}

/** Every file of a release with a name and hashes: the complete files and the deltas. */
export function releaseFiles(release: WithArtifacts): (Artifact | Delta)[] {
  return [...completeFiles(release), ...release.artifacts.deltas];
}

/** A file of a release as it is sent. A block map has no SHA-512. */
export type ServedFile = StoredFile &
  Pick<Artifact, "fileName" | "contentType" | "sizeBytes" | "sha256"> & { sha512: string | null };

/** Every file that a release has for download: its files, and their block maps as `{fileName}.blockmap`. */
export function servedFiles(release: WithArtifacts): ServedFile[] {
  return releaseFiles(release).flatMap((file): ServedFile[] => {
    const { blockMap, fileName } = file;
    if (!blockMap) return [file];
    return [file, { ...blockMap, fileName: `${fileName}.blockmap`, contentType: "application/gzip", sha512: null }];
  });
}

/** Everything that a release has stored: its files and their block maps. */
export function storedFiles(release: WithArtifacts): StoredFile[] {
  return releaseFiles(release).flatMap((file) => (file.blockMap ? [file, file.blockMap] : [file]));
}

/** Removes from a release what `isRemoved` names. A file takes its block map along. Changes `release`. */
export function removeStoredFiles({ artifacts }: WithArtifacts, isRemoved: (file: StoredFile) => boolean): void {
  for (const kind of ArtifactKind.options) {
    const artifact = artifacts[kind];
    if (artifact && isRemoved(artifact)) delete artifacts[kind];
  }
  artifacts.others = artifacts.others.filter((artifact) => !isRemoved(artifact));
  artifacts.deltas = artifacts.deltas.filter((delta) => !isRemoved(delta));
  for (const file of releaseFiles({ artifacts })) {
    if (file.blockMap && isRemoved(file.blockMap)) delete file.blockMap;
  }
}

/** The URL of a file, pinned to the version so that a resumed download never joins bytes of two releases. */
export function downloadUrl(baseUrl: string, release: Release, artifact: Artifact): string {
  const { update, installer } = release.artifacts;
  const query = new URLSearchParams({
    product: release.product,
    architecture: release.architecture,
    channel: release.channel, // always named: without it another channel's build of the version could be served
    version: formatVersion(release.version),
  });
  const kind = artifact === installer ? "installer" : artifact === update ? "update" : null;
  if (kind === null) query.set("file", artifact.fileName);
  else if (kind === "update" || release.platform === "linux") query.set("kind", kind); // Linux's default is an AppImage
  return `${baseUrl}/api/download/${release.platform}?${query}`;
}
