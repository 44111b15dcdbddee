import { downloadUrl } from "../address";
import { versionText } from "../schema";
import { byFileName, type Feed, type News } from "./feed";

/**
 * Tauri 2's updater plugin, "Dynamic Update Server". It refuses whatever is not signed, so only releases with a
 * minisign signature are told of.
 */
export const tauri: Feed = {
  name: "tauri",
  take: byFileName(
    { windows: /\.(exe|msi|zip)$/i, macos: /\.tar\.gz$/i },
    ({ minisign }) => minisign !== undefined, // Tauri has no use for it otherwise
  ),
  needs:
    "Tauri takes an .exe or .msi on Windows and a .tar.gz on macOS, with a minisign signature. It compares no system versions: name `systemVersion`.",
  comparesSystem: () => false,
  contentType: "application/json",
  write,
};

function write({ release, offer, baseUrl, updateAvailable }: News): string | null {
  if (updateAvailable === false) return null;
  return JSON.stringify({
    version: versionText(release.version),
    notes: release.notes,
    pub_date: release.releasedAt.toISOString(),
    url: downloadUrl(baseUrl, release, offer.kind),
    signature: offer.artifact.minisign,
  });
}
