import type { SemVer } from "semver";
import { productVersions } from "../catalog/product-versions";
import type { Snapshot } from "../catalog/snapshot";
import type { Release } from "../schema";
import type { ReleaseSelector } from "./release-selector";

/** Which releases a client may update to. Paths with the same `key` permit the same releases of a catalog. */
export type UpgradePath = { key: string; permits: (release: Release) => boolean };

const ANY: UpgradePath = { key: "", permits: () => true };

/** Permits the releases whose `requiresFrom` the installed version meets. An unknown version meets all of them. */
export function upgradePath(
  { versionsByProduct }: Snapshot,
  selector: ReleaseSelector,
  current: SemVer | undefined,
): UpgradePath {
  const { required } = productVersions(versionsByProduct, selector);
  const newest = required.at(-1);
  if (!newest || !current || current.compare(newest) >= 0) return ANY;
  const met = required.findLast((version) => current.compare(version) >= 0);
  return {
    key: `from ${met}`,
    permits: ({ requiresFrom }) => requiresFrom === null || (met !== undefined && requiresFrom.compare(met) <= 0),
  };
}
