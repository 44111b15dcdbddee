import { formatVersion, type Platform, type Release } from "../schema";
import type { UpdateRequest } from "./update-feed";

/** The architecture of clients that do not send theirs. */
const UNKNOWN_ARCHITECTURE = "unknown";

/** Counts a client's update check, which found this release. `architecture` null: the request does not tell it. */
export function recordCheck(
  { deps, product, channel, current, clientId, network }: UpdateRequest,
  target: { platform: Platform; architecture: string | null; channel?: string },
  release: Release,
): void {
  const isNewer = current !== undefined && release.version.compare(current) > 0;
  deps.adoption.recordUpdateCheck({
    product,
    platform: target.platform,
    architecture: target.architecture ?? UNKNOWN_ARCHITECTURE,
    channel: target.channel ?? channel,
    version: current ? formatVersion(current) : null,
    offered: isNewer ? formatVersion(release.version) : null,
    clientId: clientId ?? network(),
  });
}
