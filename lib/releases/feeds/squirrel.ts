import { downloadUrl } from "../download-url";
import { formatVersion } from "../schema";
import { type Feed, type FeedInput, selectByFileName } from "./feed";

/** Squirrel.Mac, README, "Server Support": Electron's own autoUpdater on macOS. */
export const squirrel: Feed = {
  name: "squirrel",
  selectArtifact: selectByFileName({ macos: /\.zip$/i }),
  requirements: "Squirrel.Mac takes a .zip. It compares no system versions: name `systemVersion`.",
  comparesSystemVersion: () => false,
  platforms: ["macos"],
  requiresCurrentVersion: true,
  contentType: "application/json",
  render: write,
};

function write({ release, selected: offer, baseUrl, updateAvailable }: FeedInput): string | null {
  if (!updateAvailable) return null;
  return JSON.stringify({
    url: downloadUrl(baseUrl, release, offer.kind),
    name: formatVersion(release.version),
    notes: release.notes,
    pub_date: release.releasedAt.toISOString().replace(/\.\d+/, ""), // its date format has no fractions
  });
}
