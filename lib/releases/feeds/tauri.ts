import { downloadUrl } from "../download-url";
import { formatVersion } from "../schema";
import { type Feed, type FeedInput, selectByFileName } from "./feed";

/**
 * Tauri 2's updater plugin, "Dynamic Update Server". It refuses whatever is not signed, so only releases with a
 * minisign signature are told of.
 */
export const tauri: Feed = {
  name: "tauri",
  selectArtifact: selectByFileName(
    { windows: /\.(exe|msi|zip)$/i, macos: /\.tar\.gz$/i },
    ({ minisign }) => minisign !== undefined, // Tauri has no use for it otherwise
  ),
  requirements:
    "Tauri takes an .exe or .msi on Windows and a .tar.gz on macOS, with a minisign signature. It compares no system versions: name `systemVersion`.",
  comparesSystemVersion: () => false,
  contentType: "application/json",
  render: write,
};

function write({ release, selected: offer, baseUrl, updateAvailable }: FeedInput): string | null {
  if (updateAvailable === false) return null;
  return JSON.stringify({
    version: formatVersion(release.version),
    notes: release.notes,
    pub_date: release.releasedAt.toISOString(),
    url: downloadUrl(baseUrl, release, offer.kind),
    signature: offer.artifact.minisign,
  });
}
