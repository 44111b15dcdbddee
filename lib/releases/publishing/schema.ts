import { z } from "zod";
import { NextCursor, PageQuery } from "../../platform/lists";
import { Time } from "../../platform/storable";
import { Platform } from "../platforms";
import { FileKind, PublishedBy, SignedUpdater } from "../schema";

const Percentage = z.number().min(0).max(100).optional();
const Reason = z.string().trim().min(1).max(500).optional();
const text = z.string().optional();

const MAX_RELEASES = 100;
const MAX_FILES = 100;
const MAX_KEYS = 10;

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
  attestationUploadId: z
    .uuid()
    .optional()
    .describe(
      "The upload of a Sigstore bundle that states the file's provenance, as `actions/attest` writes it, or of several, each on a line.",
    ),
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

/** What the operator confirms although it looks like a mistake. */
const Confirmations = z.strictObject({
  /** A product, architecture, channel or key that the catalog does not have yet. */
  isNew: z.boolean().optional(),
  /** A prerelease on the stable channel. */
  isPrerelease: z.boolean().optional(),
  /** No document that the publisher signed, although the product's newest release has one. */
  isUnsigned: z.boolean().optional(),
});
export type Confirmations = z.infer<typeof Confirmations>;

const Draft = z.strictObject({
  release: z
    .record(z.string().max(64), z.unknown())
    .describe("The fields of the release in the catalog, without `artifacts`."),
  files: z.array(File).min(1).max(MAX_FILES),
  publicKeys: z
    .strictObject({
      minisign: z.string().optional(),
      ed: z
        .union([z.string(), z.array(z.string()).max(MAX_KEYS)])
        .optional()
        .describe("Several during a rotation."),
      manifest: z
        .array(z.string())
        .max(MAX_KEYS)
        .optional()
        .describe("electron-builder's keys for `latest.yml`. Several during a rotation."),
    })
    .optional(),
  confirmations: Confirmations.optional().describe("Confirms what would otherwise be rejected as a likely mistake."),
});

export const NewReleases = z.strictObject({ releases: z.array(Draft).min(1).max(MAX_RELEASES) });
export type NewReleases = z.infer<typeof NewReleases>;

export const PublishedReleases = z.object({
  releases: z.array(z.object({ id: z.string(), outcome: z.enum(["added", "changed", "unchanged"]) })),
  removedSamples: z.array(z.string()).describe("The ids of the sample releases, which the first real release removes."),
  notes: z
    .array(z.string())
    .describe("What could not be verified, and which clients will refuse a release, for people."),
});
export type PublishedReleases = z.infer<typeof PublishedReleases>;

export const ReleaseParams = z.object({ releaseId: z.string().min(1).max(128) });

export const ReleasesQuery = z.object({
  ...PageQuery.shape,
  product: text,
  platform: z.string().optional().describe("Case-insensitive, with aliases such as `win32`."),
  architecture: text,
  channel: text,
  version: text,
});
export type ReleasesQuery = z.infer<typeof ReleasesQuery>;

/** Whether the policy of a release's product offers all its files. */
export const Admission = z.enum(["admitted", "pending", "refused"]);
export type Admission = z.infer<typeof Admission>;

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
  admission: Admission.optional().describe(
    "Only if its product has a policy. `pending`: a file waits for approvals. `refused`: a file was not published through the service.",
  ),
  withheldFrom: z
    .array(SignedUpdater)
    .optional()
    .describe("The updaters that are not offered it: its signed document is damaged, or offers what is withdrawn."),
  artifacts: z.looseObject({}),
  signedDocuments: z
    .partialRecord(SignedUpdater, z.object({ sha256: z.string() }))
    .describe("The documents that the publisher signed. The feed of the updater has their text."),
  publishedBy: PublishedBy.nullish().describe("Who published its files. null: the catalog does not say it."),
});

export const Releases = z.object({ releases: z.array(Release), nextCursor: NextCursor });
export type Releases = z.infer<typeof Releases>;

/** The fields that may change after a release was published. null removes one. */
export const ChangedRelease = z.strictObject({
  yanked: z.boolean().optional().describe("Yanked: no longer served."),
  rollback: z.boolean().optional().describe("Also offered to clients with a newer version."),
  critical: z.boolean().optional(),
  rollout: Percentage.describe("The percentage of clients that receive it. 0 pauses it."),
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

const Notes = z.array(z.string()).describe("Which clients will refuse a release, for people.");

export const ChangeResult = z.object({
  releases: z.array(z.object({ id: z.string(), outcome: z.enum(["changed", "unchanged"]) })),
  newerServed: z.array(z.string()).describe("The ids of newer releases for the same clients that are still served."),
  notes: Notes,
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

export const ReleasesFilter = z
  .strictObject({
    ids: z.array(z.string().max(256)).max(1_000).optional().describe("Ids, or versions of one product."),
    product: text,
    platform: text,
    architecture: text,
    channel: text,
    version: text,
  })
  .describe("Which releases: by id or version, by fields, or by both.");
export type ReleasesFilter = z.infer<typeof ReleasesFilter>;

export const ChangedReleases = z.strictObject({
  filter: ReleasesFilter,
  change: ChangedRelease,
  reason: Reason.describe("Why, for the audit trail."),
});
export type ChangedReleases = z.infer<typeof ChangedReleases>;

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
  notes: Notes,
});
export type RolledBack = z.infer<typeof RolledBack>;

export const Promotion = z.strictObject({
  filter: ReleasesFilter,
  from: z.string().max(64).describe("The channel of the releases."),
  to: z.string().max(64).describe("The channel on which the same builds are offered."),
  rollout: Percentage.describe("The percentage of clients that receive them. 100 by default."),
  confirmations: Confirmations.optional(),
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

const { releases, files, elsewhere } = RemovalResult.shape;
export const PrunedCatalog = z.object({ releases, files, freedBytes: z.number(), elsewhere });
export type PrunedCatalog = z.infer<typeof PrunedCatalog>;

/** Fits the column, and is more than any version has. */
const MAX_REPORTS = 1_000_000_000;
const share = z.number().min(0).max(1);

export const NewRollout = z.strictObject({
  filter: ReleasesFilter,
  steps: z.array(z.number()).min(1).max(20).describe("Ascending percentages, in tenths at most."),
  everySeconds: z.int().describe("How long a step lasts: a minute to 90 days."),
  startsAt: Time.optional().describe(
    "When the first step begins. Until then nobody is offered the version. At once by default.",
  ),
  maxFailureShare: share.optional().describe("Maximum share of reports that are failures, from 0 to 1. Default: 0.05."),
  minReports: z
    .int()
    .min(1)
    .max(MAX_REPORTS)
    .optional()
    .describe("Minimum number of reports before failures can halt the rollout. Default: 50."),
  minAdoptionShare: share
    .optional()
    .describe(
      "Minimum share of the clients to which the version was offered that must check for updates with it. Default: 0.1; 0 turns it off.",
    ),
});
export type NewRollout = z.infer<typeof NewRollout>;

export const RolloutParams = z.object({ rolloutId: z.string().max(64) });

export const ChangedRollout = z.strictObject({
  state: z
    .enum(["running", "halted", "completed"])
    .describe("`running` resumes a halted rollout and starts a scheduled one; `completed` goes to the last step."),
  reason: Reason.describe("Why it is halted, for operators."),
});
export type ChangedRollout = z.infer<typeof ChangedRollout>;

/** A change of the catalog or of a rollout that an operator considers. */
export const ProposedChange = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("change"), filter: ReleasesFilter, change: ChangedRelease }),
  z.strictObject({ kind: z.literal("rollback"), ...Rollback.shape }),
  z.strictObject({ kind: z.literal("promotion"), ...Promotion.shape }),
  z.strictObject({
    kind: z.literal("rollout"),
    rolloutId: z.string().max(64),
    state: z.enum(["running", "halted", "completed"]),
  }),
]);
export type ProposedChange = z.infer<typeof ProposedChange>;

const Offer = z.object({
  version: z.string().nullable().describe("null: no update, or for a new installation no release."),
  share: share.describe("Of the clients with this version, from 0 to 1. Rollouts divide them."),
  isMandatory: z.boolean(),
  isOlder: z.boolean().describe("A rollback."),
});
export type Offer = z.infer<typeof Offer>;

const Row = z.object({
  product: z.string(),
  platform: z.string(),
  architecture: z.string().describe("The client's own."),
  channel: z.string().describe("The client's own."),
  installed: z.string().nullable().describe("null: a new installation, or a client that does not send its version."),
  clients: z.int().describe("Distinct clients of the day `countedOn`."),
  changedShare: share.describe("The share of these clients whose offer changes."),
  before: z.array(Offer),
  after: z.array(Offer),
});
export type PreviewRow = z.infer<typeof Row>;

export const ReleasePreview = z.object({
  products: z.array(z.string()),
  countedOn: z.iso.date().nullable().describe("The UTC day whose clients are counted. null: no client was counted."),
  clients: z.int().describe("All counted clients of the products."),
  changedClients: z.int().describe("The clients whose offer changes."),
  rows: z.array(Row).describe("The groups whose offer changes, largest first; at most 200."),
  changes: z
    .array(z.object({ id: z.string(), version: z.string(), outcome: z.enum(["changed", "added"]) }))
    .describe("The releases of the catalog that change."),
  notes: Notes,
});
export type ReleasePreview = z.infer<typeof ReleasePreview>;
