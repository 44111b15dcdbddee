import { type ArtifactKind, formatVersion, type Release } from "./schema";

/**
 * The URL of one artifact of one release. It is pinned to the version, so that a resumed download never joins bytes of
 * two releases. Absolute if `baseUrl` is.
 */
export function downloadUrl(baseUrl: string, release: Release, kind: ArtifactKind): string {
  const query = new URLSearchParams({
    product: release.product,
    architecture: release.architecture,
    channel: release.channel, // always named: without it another channel's build of the version could be served
    version: formatVersion(release.version),
  });
  if (kind !== "installer") query.set("kind", kind);
  return `${baseUrl}/api/download/${release.platform}?${query}`;
}
