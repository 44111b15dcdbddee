import {
  type Artifact,
  ArtifactKind,
  type BesideFile,
  type Delta,
  formatVersion,
  type Release,
  type StoredFile,
} from "./schema";

type WithArtifacts = Pick<Release, "artifacts">;

/** The complete files of a release in the order in which an updater may choose: the update, the installer, the others. */
export function completeFiles({ artifacts: { update, installer, others } }: WithArtifacts): Artifact[] {
  return [update, installer, ...others].filter((artifact) => artifact !== undefined);
}

/** Every file of a release with a name and hashes: the complete files and the deltas. */
export function releaseFiles(release: WithArtifacts): (Artifact | Delta)[] {
  return [...completeFiles(release), ...release.artifacts.deltas];
}

/** A file of a release as it is sent. A block map and an attestation have no SHA-512. */
export type ServedFile = StoredFile &
  Pick<Artifact, "fileName" | "contentType" | "sizeBytes" | "sha256"> & {
    sha512: string | null;
    /** Of an attestation: the SHA-256 of the file that it is of. */
    attests?: string;
  };

export const BLOCK_MAP_TYPE = "application/gzip";
export const ATTESTATION_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";

/** Every file that a release has for download. */
export function servedFiles(release: WithArtifacts): ServedFile[] {
  return releaseFiles(release).flatMap(withFilesBeside);
}

/** A file, with its block map as `{fileName}.blockmap` and its attestation as `{fileName}.sigstore.json`. */
export function withFilesBeside(file: Artifact | Delta): ServedFile[] {
  const { blockMap, attestation, fileName, sha256: attests } = file;
  const files: ServedFile[] = [file];
  if (blockMap) {
    files.push({ ...blockMap, fileName: `${fileName}.blockmap`, contentType: BLOCK_MAP_TYPE, sha512: null });
  }
  if (attestation) {
    const served = { fileName: `${fileName}.sigstore.json`, contentType: ATTESTATION_TYPE, sha512: null, attests };
    files.push({ ...attestation, ...served });
  }
  return files;
}

/** Everything that a release has stored: its files, their block maps and attestations. */
export function storedFiles(release: WithArtifacts): (Artifact | BesideFile)[] {
  return releaseFiles(release).flatMap((file) =>
    [file, file.blockMap, file.attestation].filter((stored) => stored !== undefined),
  );
}

/** Removes from a release what `isRemoved` names. A file takes what is beside it along. Changes `release`. */
export function removeStoredFiles({ artifacts }: WithArtifacts, isRemoved: (file: StoredFile) => boolean): void {
  for (const kind of ArtifactKind.options) {
    const artifact = artifacts[kind];
    if (artifact && isRemoved(artifact)) delete artifacts[kind];
  }
  artifacts.others = artifacts.others.filter((artifact) => !isRemoved(artifact));
  artifacts.deltas = artifacts.deltas.filter((delta) => !isRemoved(delta));
  for (const file of releaseFiles({ artifacts })) {
    if (file.blockMap && isRemoved(file.blockMap)) delete file.blockMap;
    if (file.attestation && isRemoved(file.attestation)) delete file.attestation;
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
