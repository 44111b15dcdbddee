import { z } from "zod";
import { NextCursor, PageQuery } from "../../../platform/lists";
import { Platform } from "../../platforms";
import { FileKind } from "../publish/file-kind";

const MAX_RELEASES = 100;
const MAX_FILES = 100;

/** Where a file is served from. */
const Destination = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("folder") }),
  z.strictObject({ kind: z.literal("storage") }),
  z.strictObject({ kind: z.literal("url"), url: z.url({ protocol: /^https?$/ }) }),
]);

const File = z.strictObject({
  uploadId: z.uuid().describe("A complete upload of the same caller."),
  blockMapUploadId: z
    .uuid()
    .optional()
    .describe("The upload of its block map. Default: one is made if updaters need it."),
  kinds: z.array(FileKind).min(1).max(FileKind.options.length),
  from: z.string().optional().describe("The version that a delta turns into the release."),
  artifact: z
    .strictObject({
      fileName: z.string().optional().describe("Default: `filename` of the upload's metadata."),
      contentType: z.string().optional(),
      minisign: z.string().optional(),
      edSignature: z.string().optional(),
    })
    .optional(),
  destination: Destination.optional().describe("Default: the catalog's folder."),
  expected: z
    .strictObject({
      by: z.string().max(255).optional().describe("Where this value comes from, for error messages."),
      sizeBytes: z.int().optional(),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, "Must be 64 hexadecimal digits")
        .optional(),
      sha512: z.string().optional().describe("Base64."),
    })
    .optional()
    .describe("The expected file. A different file is rejected with 409 `file_changed`."),
});

const Draft = z.strictObject({
  release: z
    .record(z.string().max(64), z.unknown())
    .describe("The fields of the release in the catalog, without `artifacts`."),
  files: z.array(File).min(1).max(MAX_FILES),
  publicKeys: z.strictObject({ minisign: z.string().optional(), ed: z.string().optional() }).optional(),
  confirmations: z
    .strictObject({ isNew: z.boolean().optional(), isPrerelease: z.boolean().optional() })
    .optional()
    .describe("Confirms what would otherwise be rejected as a likely mistake."),
});

/** The releases to publish, all at once. */
export const NewReleases = z.strictObject({ releases: z.array(Draft).min(1).max(MAX_RELEASES) });
export type NewReleases = z.infer<typeof NewReleases>;

export const PublishedReleases = z.object({
  releases: z.array(z.object({ id: z.string(), outcome: z.enum(["added", "changed", "unchanged"]) })),
  removedSamples: z.array(z.string()).describe("The ids of the sample releases, which the first real release removes."),
  notes: z.array(z.string()).describe("Which signatures could not be verified, for people."),
});
export type PublishedReleases = z.infer<typeof PublishedReleases>;

export const ReleaseParams = z.object({ releaseId: z.string().min(1).max(128) });

/** Which releases to list. */
export const ReleasesQuery = z.object({
  ...PageQuery.shape,
  product: z.string().optional(),
  platform: z.string().optional().describe("Case-insensitive, with aliases such as `win32`."),
  architecture: z.string().optional(),
  channel: z.string().optional(),
  version: z.string().optional(),
});
export type ReleasesQuery = z.infer<typeof ReleasesQuery>;

/** A release as the catalog has it, with all defaults. */
export const Release = z.looseObject({
  id: z.string(),
  product: z.string(),
  platform: Platform,
  architecture: z.string(),
  channel: z.string(),
  version: z.string(),
  releasedAt: z.string(),
  rollout: z.number(),
  critical: z.boolean(),
  rollback: z.boolean(),
  yanked: z.boolean(),
  sample: z.boolean(),
  artifacts: z.looseObject({}),
});

export const Releases = z.object({ releases: z.array(Release), nextCursor: NextCursor });
export type Releases = z.infer<typeof Releases>;

/** The fields that may change after a release was published. null removes one. */
export const ChangedRelease = z.strictObject({
  yanked: z.boolean().optional().describe("Yanked: no longer served."),
  rollback: z.boolean().optional().describe("Also offered to clients with a newer version."),
  critical: z.boolean().optional(),
  rollout: z.number().min(0).max(100).optional().describe("The percentage of clients that receive it. 0 pauses it."),
  notes: z.string().optional(),
  notesUrl: z.string().nullable().optional(),
  minimumSupportedVersion: z.string().nullable().optional(),
  minimumSystemVersion: z.string().nullable().optional(),
  requiresFrom: z.string().nullable().optional(),
  buildVersion: z.string().nullable().optional(),
  rolloutSeries: z.string().nullable().optional(),
  phasedRolloutIntervalSeconds: z.number().nullable().optional(),
  releasedAt: z.string().optional(),
});
export type ChangedRelease = z.infer<typeof ChangedRelease>;

export const ChangeResult = z.object({
  releases: z.array(z.object({ id: z.string(), outcome: z.enum(["changed", "unchanged"]) })),
  newerServed: z.array(z.string()).describe("The ids of newer releases for the same clients that are still served."),
});
export type ChangeResult = z.infer<typeof ChangeResult>;

const flag = z.enum(["true", "false"]).optional();
export const RemovalQuery = z.object({
  force: flag.describe("`true` also removes a release that is offered to clients."),
  dryRun: flag.describe("`true` changes nothing."),
});
export type RemovalQuery = z.infer<typeof RemovalQuery>;

export const RemovalResult = z.object({
  releases: z.array(z.string()),
  files: z.array(z.string()).describe("The files that were deleted from the catalog's folder."),
  elsewhere: z.array(z.string()).describe("URLs and object keys that stay."),
});
export type RemovalResult = z.infer<typeof RemovalResult>;
