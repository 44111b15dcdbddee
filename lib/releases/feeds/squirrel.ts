import { downloadUrl } from "../address";
import { versionText } from "../schema";
import { byFileName, type Feed, type News } from "./feed";

/** Squirrel.Mac, README, "Server Support": Electron's own autoUpdater on macOS. */
export const squirrel: Feed = {
  name: "squirrel",
  take: byFileName({ macos: /\.zip$/i }),
  needs: "Squirrel.Mac takes a .zip. It compares no system versions: name `systemVersion`.",
  comparesSystem: () => false,
  platforms: ["macos"],
  needsCurrent: true,
  contentType: "application/json",
  write,
};

function write({ release, offer, baseUrl, updateAvailable }: News): string | null {
  if (!updateAvailable) return null;
  return JSON.stringify({
    url: downloadUrl(baseUrl, release, offer.kind),
    name: versionText(release.version),
    notes: release.notes,
    pub_date: release.releasedAt.toISOString().replace(/\.\d+/, ""), // its date format has no fractions
  });
}
