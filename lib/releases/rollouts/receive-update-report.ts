import type { SemVer } from "semver";
import { z } from "zod";
import { AppError } from "../../errors";
import type { Catalog } from "../catalog/catalog";
import { minimumSystemVersionOf } from "../catalog/snapshot";
import { InstalledVersion } from "../http-schema";
import { normalizeArchitecture, parsePlatform } from "../platforms";
import { formatVersion } from "../schema";
import type { UpdateReports } from "./update-report-counts";

export const ReportParams = z.object({ product: z.string().max(64) });

export const UpdateReport = z.object({
  version: InstalledVersion.describe("The version that was to be installed."),
  from: InstalledVersion.optional().describe("The version before the update."),
  outcome: z.enum(["installed", "failed", "rolled_back"]),
  code: z
    .string()
    .regex(/^[\w.:-]{1,64}$/, "Must have at most 64 letters, digits and _ . : -")
    .optional()
    .describe("Why the update failed: a code of the client's own, never text about its user."),
  platform: z.string().max(64),
  architecture: z.string().max(64),
});
export type UpdateReport = z.infer<typeof UpdateReport>;

type Deps = {
  catalog: Catalog;
  limits: { consume: (limit: "updateReports", key: string) => Promise<void> };
  updateReports: Pick<UpdateReports, "record">;
};

/**
 * Counts a client's report about an update to a version that the catalog has or had.
 * @throws AppError validation_failed, release_not_found, catalog_unavailable, rate_limited
 */
export async function reportUpdate(
  { catalog, limits, updateReports }: Deps,
  product: string,
  { platform: given, architecture, version, from, outcome, code = "" }: UpdateReport,
): Promise<void> {
  const snapshot = catalog.current();
  if (!snapshot) throw new AppError("catalog_unavailable");
  const platform = parsePlatform(given);
  if (!platform) throw unknownValue("/platform");
  const target = { product, platform, architecture: normalizeArchitecture(architecture) };
  if (!snapshot.knownValues.architecture.has(target.architecture)) throw unknownValue("/architecture");
  const isPublished = (one: SemVer) => minimumSystemVersionOf(snapshot, target, one) !== undefined;
  if (!isPublished(version)) throw new AppError("release_not_found");
  await limits.consume("updateReports", "all");
  const known = from === undefined ? "unknown" : isPublished(from) ? formatVersion(from) : "other";
  updateReports.record({ ...target, version: formatVersion(version), from: known, outcome, code });
}

function unknownValue(pointer: string): AppError {
  return new AppError("validation_failed", {
    errors: [{ pointer, code: "invalid_value", detail: "Is not in the catalog" }],
  });
}
