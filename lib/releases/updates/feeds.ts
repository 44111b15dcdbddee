import { electronFeed } from "./electron-feed";
import { squirrelReleases } from "./squirrel-releases";
import type { UpdateFeed } from "./update-feed";
import { velopackReleases } from "./velopack-releases";

/** The documents below `/api/updates/{product}/{channel}/`. The first whose pattern matches responds. */
export const UPDATE_FEEDS: readonly UpdateFeed[] = [electronFeed, squirrelReleases, velopackReleases];
