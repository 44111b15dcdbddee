import { toUpdateCheck } from "../adoption/update-check";
import type { Platform } from "../platforms";
import type { Release } from "../schema";
import type { UpdateRequest } from "./update-feed";

/** The architecture of clients that do not send theirs. */
const UNKNOWN_ARCHITECTURE = "unknown";

/** Counts a client's update check, which found this release. `architecture` null: the request does not include it. */
export function recordCheck(
  { deps, product, channel, current, clientId, network }: UpdateRequest,
  target: { platform: Platform; architecture: string | null; channel?: string },
  release: Release,
): void {
  const { platform, architecture } = target;
  const asked = {
    product,
    platform,
    architecture: architecture ?? UNKNOWN_ARCHITECTURE,
    channel: target.channel ?? channel,
  };
  deps.adoption.recordUpdateCheck(toUpdateCheck(asked, release, current), clientId ?? network());
}
