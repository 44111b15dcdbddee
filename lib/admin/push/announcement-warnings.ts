import { parse } from "semver";
import type { Context } from "../../context";
import type { Snapshot } from "../../releases/catalog/snapshot";
import type { Estimate, EstimateWithWarnings } from "./schema";

/**
 * Adds to an estimate what is likely to be a mistake in the announcement of a version. Without a catalog, nothing is known of
 * versions.
 */
export function withWarnings(
  { catalog }: Pick<Context, "catalog">,
  { version }: { version?: string | undefined },
  estimate: Estimate,
): EstimateWithWarnings {
  const snapshot = catalog.current();
  if (version === undefined || snapshot === null || isOffered(snapshot, version)) return { ...estimate, warnings: [] };
  const { devices, isExact } = estimate;
  const count = `${isExact ? "" : "about "}${devices} ${devices === 1 ? "device" : "devices"}`;
  const detail =
    `${version} is not published: no release that is offered now has this version. Announcing it notifies ${count}. ` +
    "Apps that update from Homeport would find no update.";
  return { ...estimate, warnings: [{ code: "version_not_published", detail }] };
}

/** Whether a release of the version is served, to some clients at least. */
function isOffered({ releasesByVersion }: Snapshot, version: string): boolean {
  const announced = parse(withThreeNumbers(version));
  return [...releasesByVersion.values()]
    .flat()
    .some(
      ({ rollout, buildVersion, version: published }) =>
        rollout > 0 && (buildVersion === version || (announced !== null && published.compare(announced) === 0)),
    );
}

/** An app's version may have one or two numbers: zeros follow them. */
function withThreeNumbers(version: string): string {
  const [numbers = ""] = /^[\d.]+/.exec(version) ?? [];
  const missing = Math.max(0, 3 - numbers.split(".").length);
  return `${numbers}${".0".repeat(missing)}${version.slice(numbers.length)}`;
}
