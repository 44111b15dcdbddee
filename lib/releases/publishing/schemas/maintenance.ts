import { z } from "zod";
import { Time } from "../../../platform/storable";
import { ChangedRelease, ChangeResult } from "./releases";

export const ReleasesFilter = z
  .strictObject({
    ids: z.array(z.string().max(256)).max(1_000).optional().describe("Ids, or versions of one product."),
    product: z.string().optional(),
    platform: z.string().optional(),
    architecture: z.string().optional(),
    channel: z.string().optional(),
    version: z.string().optional(),
  })
  .describe("Which releases: by id or version, by fields, or by both.");
export type ReleasesFilter = z.infer<typeof ReleasesFilter>;

/** A change of several releases, all at once. */
export const ChangedReleases = z.strictObject({
  filter: ReleasesFilter,
  change: ChangedRelease,
  reason: z.string().trim().min(1).max(500).optional().describe("Why, for the audit trail."),
});
export type ChangedReleases = z.infer<typeof ChangedReleases>;

/** The releases to roll back to. */
export const Rollback = z.strictObject({
  filter: ReleasesFilter,
  withdrawal: z
    .enum(["yank", "pause"])
    .default("yank")
    .describe("What happens to newer releases of the channel: withdrawn for good, or paused."),
});
export type Rollback = z.infer<typeof Rollback>;

export const RolledBack = z.object({
  releases: ChangeResult.shape.releases,
  withdrawn: z.array(z.string()).describe("The ids of the newer releases, which are no longer offered."),
});
export type RolledBack = z.infer<typeof RolledBack>;

/** Which releases to offer on another channel. */
export const Promotion = z.strictObject({
  filter: ReleasesFilter,
  from: z.string().max(64).describe("The channel of the releases."),
  to: z.string().max(64).describe("The channel on which the same builds are offered."),
  rollout: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe("The percentage of clients that receive them. 100 by default."),
  confirmations: z.strictObject({ isNew: z.boolean().optional(), isPrerelease: z.boolean().optional() }).optional(),
});
export type Promotion = z.infer<typeof Promotion>;

export const PromotedReleases = z.object({
  releases: z.array(
    z.object({
      id: z.string(),
      from: z.string().describe("The id of the release that was promoted."),
      outcome: z.enum(["added", "unchanged"]),
    }),
  ),
});
export type PromotedReleases = z.infer<typeof PromotedReleases>;

/** Releases to remove, all at once. */
export const Removal = z.strictObject({
  filter: ReleasesFilter,
  isForced: z.boolean().default(false).describe("`true` also removes releases that are offered to clients."),
  isDryRun: z.boolean().describe("`true` changes nothing."),
});
export type Removal = z.infer<typeof Removal>;

/** What to remove from the catalog. Without a limit, only files that no release has. */
export const CatalogPrune = z.strictObject({
  filter: ReleasesFilter.default({}),
  keep: z.int().min(0).optional().describe("How many versions of each channel stay."),
  publishedBefore: Time.optional().describe("Only releases that were published before this time are removed."),
  isDryRun: z.boolean().describe("`true` changes nothing."),
});
export type CatalogPrune = z.infer<typeof CatalogPrune>;

export const PrunedCatalog = z.object({
  releases: z.array(z.string()),
  files: z.array(z.string()).describe("The files that were deleted from the catalog's folder."),
  freedBytes: z.number(),
  elsewhere: z.array(z.string()).describe("URLs and object keys that stay."),
});
export type PrunedCatalog = z.infer<typeof PrunedCatalog>;
