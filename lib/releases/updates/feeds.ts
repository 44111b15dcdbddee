import { autoUpdaterFeed } from "./electron/auto-updater-feed";
import { electronFeed } from "./electron/electron-updater-feed";
import { appcastFeed } from "./sparkle/appcast-feed";
import { squirrelReleases } from "./squirrel-releases";
import { tauriDynamicFeed } from "./tauri/dynamic-feed";
import { tauriStaticFeed } from "./tauri/static-feed";
import type { UpdateFeed } from "./update-feed";
import { velopackReleases } from "./velopack-releases";
import { appInstallerFeed } from "./windows/app-installer-feed";
import { wingetFeed } from "./windows/winget-feed";

/** The documents below `/api/updates/{product}/{channel}/`. The first whose pattern matches responds. */
export const UPDATE_FEEDS: readonly UpdateFeed[] = [
  electronFeed,
  squirrelReleases,
  autoUpdaterFeed,
  velopackReleases,
  tauriDynamicFeed,
  tauriStaticFeed,
  appcastFeed,
  appInstallerFeed,
  wingetFeed,
];
