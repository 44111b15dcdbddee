import { downloadUrl } from "../release-files";
import { formatVersion, type Release } from "../schema";
import { type FormatInput, selectByFileName, type VersionFormat } from "./version-format";

/** Squirrel.Mac (README, "Server Support"), which Electron's autoUpdater uses on macOS. */
export const squirrel: VersionFormat = {
  name: "squirrel",
  selectArtifact: selectByFileName({ macos: /\.zip$/i }),
  requirements: "Squirrel.Mac needs a .zip. It does not compare system versions: send systemVersion.",
  comparesSystemVersion: () => false,
  platforms: ["macos"],
  requiresCurrentVersion: true,
  contentType: "application/json",
  render,
};

function render({ release, artifact, baseUrl, updateAvailable }: FormatInput): string | null {
  if (!updateAvailable) return null;
  return JSON.stringify({ url: downloadUrl(baseUrl, release, artifact), ...releaseFields(release) });
}

/** What Squirrel.Mac reads of a release. Its date format has no fractions. */
export function releaseFields({ version, notes, releasedAt }: Release) {
  return { name: formatVersion(version), notes, pub_date: releasedAt.toISOString().replace(/\.\d+/, "") };
}
