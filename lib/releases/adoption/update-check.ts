import type { SemVer } from "semver";
import { formatVersion, type Release } from "../schema";
import { type AdoptionKey, UNKNOWN_VERSION, type UpdateCheck } from "./day-counts";

/** The check of a client that asked for `target` and found `release`. `current` undefined: it does not send its version. */
export function toUpdateCheck(
  { product, platform, architecture, channel }: Omit<AdoptionKey, "version">,
  { version }: Release,
  current: SemVer | undefined,
): UpdateCheck {
  const target = { product, platform, architecture, channel };
  const isNewer = current !== undefined && version.compare(current) > 0;
  return {
    installed: { ...target, version: current ? formatVersion(current) : UNKNOWN_VERSION },
    offered: isNewer ? { ...target, version: formatVersion(version) } : null,
  };
}
