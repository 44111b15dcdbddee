import { type Artifact, formatVersion, type Release } from "./schema";

/**
 * The URL of one artifact of one release. It is pinned to the version, so that a resumed download never joins bytes of
 * two releases. Absolute if `baseUrl` is.
 */
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
