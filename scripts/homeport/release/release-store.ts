import type { ReleaseDraft } from "../../../lib/releases/publishing/draft";
import type { ReleaseDocument } from "../../../lib/releases/publishing/list";
import type {
  CatalogPrune,
  ChangedRelease,
  ChangeResult,
  PromotedReleases,
  Promotion,
  PrunedCatalog,
  PublishedReleases,
  ReleasesFilter,
  Removal,
  RemovalResult,
} from "../../../lib/releases/publishing/schema";
import type { VerifyResult } from "../../../lib/releases/publishing/verify";

/** `etag`: identifies what a dry run has seen. A file has none. */
type WithTag<T> = Promise<{ result: T; etag?: string | undefined }>;

/** The releases that the commands read and change: of a service, or of the file of `--catalog`. Errors have a stable `code`. */
export type ReleaseStore = {
  list: (filter: ReleasesFilter) => Promise<ReleaseDocument[]>;
  /** Publishes all drafts at once. */
  add: (drafts: readonly ReleaseDraft[]) => Promise<PublishedReleases>;
  update: (filter: ReleasesFilter, change: ChangedRelease) => Promise<ChangeResult>;
  promote: (filter: ReleasesFilter, promotion: Omit<Promotion, "filter">) => Promise<PromotedReleases>;
  /** `etag`: of the dry run that was confirmed; another change since is refused. */
  remove: (filter: ReleasesFilter, options: Omit<Removal, "filter">, etag?: string) => WithTag<RemovalResult>;
  prune: (filter: ReleasesFilter, options: Omit<CatalogPrune, "filter">, etag?: string) => WithTag<PrunedCatalog>;
  /** Hashes the published files again; with `shouldVerifyRemote`, also those outside the catalog's folder. */
  verify: (filter: ReleasesFilter, options: { shouldVerifyRemote: boolean }) => AsyncIterable<VerifyResult>;
};
