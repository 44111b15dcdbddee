import { completeFiles, downloadUrl } from "../release-files";
import { formatVersion, type Release } from "../schema";
import { parseMinisignature, signedVersion } from "../signatures";
import { type FormatInput, selectByFileName, type VersionFormat } from "./version-format";

/** Tauri 2's updater plugin ("Dynamic Update Server"). It requires a signature, so unsigned releases are skipped. */
export const tauri: VersionFormat = {
  name: "tauri",
  selectArtifact: selectByFileName(
    { windows: /\.(exe|msi|zip)$/i, macos: /\.tar\.gz$/i, linux: /\.(appimage|appimage\.tar\.gz|deb|rpm)$/i },
    ({ minisign }) => minisign !== undefined,
  ),
  requirements:
    "Tauri needs an .exe or .msi on Windows, a .tar.gz on macOS, and on Linux the file of its bundleType, with a minisign signature. It does not compare system versions: send systemVersion.",
  comparesSystemVersion: () => false,
  requiresBundleType: true,
  contentType: "application/json",
  render,
};

function render({ release, artifact, baseUrl, updateAvailable }: FormatInput): string | null {
  if (updateAvailable === false) return null;
  const url = downloadUrl(baseUrl, release, artifact);
  return JSON.stringify({ ...releaseFields(release), url, signature: artifact.minisign });
}

export function releaseFields({ version, notes, releasedAt }: Release) {
  return { version: formatVersion(version), notes, pub_date: releasedAt.toISOString() };
}

/** A sentence for each file whose signature does not name the version, with the clients that refuse it. */
export function unsignedVersionNotes(release: Release): string[] {
  const { product, version, platform, architecture } = release;
  return completeFiles(release).flatMap(({ fileName, minisign }) => {
    if (minisign === undefined || signedVersion(parseMinisignature(minisign).trustedComment) !== undefined) return [];
    return `The signature of ${fileName} does not name the version: apps of ${product} for ${platform} ${architecture} with Tauri's requireSignedVersion will refuse ${formatVersion(version)}. Sign it with Tauri's CLI 2.11.5 or newer.`;
  });
}
