import { formatVersion, type Kind, type Release } from "./schema";

/**
 * Where one artifact of one release is downloaded, whatever is released later: absolute, pinned to the version,
 * so that a download that is resumed never splices two releases.
 */
export function downloadUrl(baseUrl: string, release: Release, kind: Kind): string {
  const query = new URLSearchParams({
    product: release.product,
    architecture: release.architecture,
    channel: release.channel, // stable too: unnamed, another channel's build of the same version would do
    version: formatVersion(release.version),
    ...(kind === "installer" ? {} : { kind }),
  });
  return `${baseUrl}/api/download/${release.platform}?${query}`;
}
