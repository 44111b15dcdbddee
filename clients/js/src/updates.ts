import type { Client } from "./http/client.js";
import { request, type Schemas } from "./http/request.js";

export type Release = Schemas["ReleaseVersion"];

export type InstalledApp = {
  product: string;
  platform: Release["platform"];
  /** Such as `x64`, `arm64` or `universal`. */
  architecture: string;
  /** The version that is installed. */
  version: string;
  channel?: string;
  /** A random id of the installation. It keeps its place in a staged rollout, and is counted once. */
  clientId?: string;
};

/**
 * The release that an installed app should update to, or null if it is up to date. `mandatory`: the app must not
 * continue without the update. Installing it is the updater's task.
 * @throws HomeportError such as `release_not_found`, `network_error`
 */
export async function checkForUpdate(client: Client, app: InstalledApp): Promise<Release | null> {
  const { version, ...query } = app;
  const newest = await request(client, "GET", "/api/version", { query: { ...query, current: version } });
  return isRelease(newest) && newest.updateAvailable ? newest : null;
}

const isRelease = (version: unknown): version is Release =>
  (version as { kind?: string } | undefined)?.kind === "release";
