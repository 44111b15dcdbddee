import { parse } from "semver";
import type { Context } from "../../context";
import type { Estimate, EstimateWithWarnings } from "./schema";

type Deps = Pick<Context, "catalog" | "rollouts">;

/** Adds to an estimate what is likely to be a mistake in the announcement of a version. */
export async function withWarnings(
  deps: Deps,
  { version }: { version?: string | undefined },
  estimate: Estimate,
): Promise<EstimateWithWarnings> {
  if (version === undefined || (await isOffered(deps, version))) return { ...estimate, warnings: [] };
  const { devices, isExact } = estimate;
  const count = `${isExact ? "" : "about "}${devices.toLocaleString("en")} ${devices === 1 ? "device" : "devices"}`;
  const detail =
    `${version} is not published: no release that is offered now has this version. Announcing it notifies ${count}. ` +
    "Apps that update from Homeport would find no update.";
  return { ...estimate, warnings: [{ code: "version_not_published", detail }] };
}

/** Whether a release of the version is served, to some clients at least. Without a catalog, nothing is known of versions. */
export async function isOffered({ catalog, rollouts }: Deps, version: string): Promise<boolean> {
  // The process of a command reads them when they are needed.
  if (catalog.current() === null) await Promise.all([catalog.refresh(), rollouts.refresh()]);
  const snapshot = catalog.current();
  if (snapshot === null) return true;
  const announced = parse(withThreeNumbers(version));
  return [...snapshot.releasesByVersion.values()]
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
