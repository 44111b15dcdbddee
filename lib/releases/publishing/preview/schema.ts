import { z } from "zod";
import { Promotion, ReleasesFilter, Rollback } from "../schemas/maintenance";
import { ChangedRelease } from "../schemas/releases";

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

const share = z.number().min(0).max(1);

/** What a part of the clients gets. */
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
});
export type ReleasePreview = z.infer<typeof ReleasePreview>;
