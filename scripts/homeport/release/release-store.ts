import type { ReleaseDraft } from "../../../lib/releases/publishing/draft";
import type { ReleaseDocument } from "../../../lib/releases/publishing/list";
import type { AddedRelease } from "../../../lib/releases/publishing/plan-addition";
import type { PromotedRelease, PromotionOptions } from "../../../lib/releases/publishing/promote";
import type { PruneOptions, RemoveOptions } from "../../../lib/releases/publishing/remove";
import type {
  ChangedRelease,
  PrunedCatalog,
  ReleasesFilter,
  RemovalResult,
} from "../../../lib/releases/publishing/schema";
import type { UpdatedRelease } from "../../../lib/releases/publishing/update";
import type { VerifyResult } from "../../../lib/releases/publishing/verify";

/** `removedSamples` are ids. `notes` are for the operator. */
export type AddOutcome = { releases: AddedRelease[]; removedSamples: string[]; notes: string[] };

/** `newerServed`: releases that are newer than the changed ones, and still served. */
export type UpdateOutcome = { releases: UpdatedRelease[]; newerServed: string[] };

/** `etag`: identifies what a dry run has seen. A file has none. */
type WithTag<T> = { result: T; etag?: string | undefined };

/** The releases that the commands read and change: of a service, or of the file of `--catalog`. Errors have a stable `code`. */
export type ReleaseStore = {
  list: (filter: ReleasesFilter) => Promise<ReleaseDocument[]>;
  /** Publishes all drafts at once. */
  add: (drafts: readonly ReleaseDraft[]) => Promise<AddOutcome>;
  update: (filter: ReleasesFilter, change: ChangedRelease) => Promise<UpdateOutcome>;
  promote: (filter: ReleasesFilter, promotion: PromotionOptions) => Promise<{ releases: PromotedRelease[] }>;
  /** `etag`: of the dry run that was confirmed; another change since is refused. */
  remove: (filter: ReleasesFilter, options: RemoveOptions, etag?: string) => Promise<WithTag<RemovalResult>>;
  prune: (filter: ReleasesFilter, options: PruneOptions, etag?: string) => Promise<WithTag<PrunedCatalog>>;
  /** Hashes the published files again; with `shouldVerifyRemote`, also those outside the catalog's folder. */
  verify: (filter: ReleasesFilter, options: { shouldVerifyRemote: boolean }) => AsyncIterable<VerifyResult>;
};
