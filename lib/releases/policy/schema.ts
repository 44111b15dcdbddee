import { z } from "zod";
import { ProductName } from "../../principal";
import { ReleasesFilter } from "../publishing/schema";
import { PublicKeys } from "../signatures";

/** What a release must have to be published. */
export const Requirement = z.enum(["signature", "publisher", "attestation"]);
export type Requirement = z.infer<typeof Requirement>;

const MAX_APPROVALS = 10;
const MAX_KEYS = 10;
const { minisign, ed, manifest } = PublicKeys.shape;
const keys = <T extends z.ZodType>(key: T) => z.array(key).max(MAX_KEYS).optional();

export const PolicyParams = z.object({ product: ProductName });

export const ChangedPolicy = z.strictObject({
  requirements: z.array(Requirement).max(Requirement.options.length).optional().describe("Default: as they are."),
  approvals: z
    .int()
    .min(0)
    .max(MAX_APPROVALS)
    .optional()
    .describe("How many admins other than its publisher must approve a release. Default: as many as now."),
  publicKeys: z
    .strictObject({ minisign: keys(minisign.unwrap()), ed: keys(ed.unwrap().options[0]), manifest })
    .optional()
    .describe("The keys whose signatures count. Default: those of the policy, at first those of the catalog."),
});
export type ChangedPolicy = z.infer<typeof ChangedPolicy>;

const Terms = z.object({
  requirements: z.array(Requirement),
  approvals: z.int(),
  publicKeys: z.array(z.string()).describe("Each as `KIND:KEY`. Those that count for the requirement `signature`."),
});

export const Policy = z.object({
  product: z.string(),
  ...Terms.shape,
  loosened: Terms.extend({ at: z.iso.datetime() })
    .nullable()
    .describe("The looser terms that follow, and when. null: no change waits."),
  pending: z.array(
    z.object({
      id: z.string(),
      version: z.string(),
      channel: z.string(),
      approvals: z.int().describe("How many admins have approved it."),
    }),
  ),
  refused: z.array(z.string()).describe("The ids of releases in the catalog that were not published here."),
});
export type Policy = z.infer<typeof Policy>;

export const Policies = z.object({ policies: z.array(Policy) });
export type Policies = z.infer<typeof Policies>;

export const Approval = z.strictObject({ filter: ReleasesFilter });
export type Approval = z.infer<typeof Approval>;

export const ApprovedReleases = z.object({
  releases: z.array(
    z.object({
      id: z.string(),
      outcome: z.enum(["approved", "unchanged"]),
      missingApprovals: z.int().describe("0: the release is offered."),
    }),
  ),
});
export type ApprovedReleases = z.infer<typeof ApprovedReleases>;
