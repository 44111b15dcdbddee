import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../errors";
import { formatVersion, type Release } from "../schema";
import { filterReleases, selectReleases } from "./filter-releases";
import { invalidRelease } from "./invalid-release";
import { type EditableManifest, identityOf, type ManifestEntry, makeReleaseId, parseRelease } from "./manifest-file";
import { assertOffered, assertPublishable } from "./publish-checks";
import type { Confirmations, PromotedReleases, Promotion, ReleasesFilter } from "./schema";
import type { ManifestPlan } from "./update";

/** The channels, and how the promoted releases start. `rollout` is 100 by default. */
export type PromotionOptions = Omit<Promotion, "filter">;

/** "unchanged": it was promoted before. */
export type PromotedRelease = PromotedReleases["releases"][number];

/**
 * Adds a release with the same version, files and notes on another channel for each selected one. Writes nothing.
 * @throws AppError if it is a prerelease, yanked or a sample, or the channel has the version with other files
 */
export function planPromotion(
  manifest: EditableManifest,
  filter: ReleasesFilter,
  promotion: PromotionOptions,
  releasedAt: string,
): ManifestPlan<PromotedRelease[]> {
  const onChannel = filterReleases(manifest.releases, { channel: promotion.from });
  const selected = selectReleases(onChannel, filter);
  const result: PromotedRelease[] = [];
  let { entries, releases } = manifest;
  for (const source of selected) {
    const planned = promote({ ...manifest, entries, releases }, source, promotion, releasedAt);
    result.push({ id: planned.release.id, from: source.id, outcome: planned.entry ? "added" : "unchanged" });
    if (!planned.entry) continue;
    entries = [...entries, planned.entry];
    releases = [...releases, planned.release];
  }
  return { entries, releases, result };
}

type Planned = { release: Release; entry: ManifestEntry | null };

function promote(
  { entries, releases }: EditableManifest,
  source: Release,
  { to, rollout = 100, confirmations = {} }: PromotionOptions,
  releasedAt: string,
): Planned {
  assertPromotable(source, to, confirmations);
  const identity = { ...identityOf(source), channel: to };
  const existing = releases.find((other) => isDeepStrictEqual(identityOf(other), identity));
  if (existing) {
    if (isDeepStrictEqual(existing.artifacts, source.artifacts)) return { release: existing, entry: null };
    const message = `${existing.id} is already published on ${to} with other files: publish a new version instead.`;
    throw new AppError("release_conflict", message);
  }
  const { rollback: _, ...fields } = entries[releases.indexOf(source)] ?? {};
  const draft = { ...fields, id: "new", channel: to, releasedAt, rollout };
  const release = parseRelease(draft);
  assertPublishable(release, releases, { ...confirmations, isPrerelease: true });
  const id = makeReleaseId(releases, release);
  const promoted = { ...release, id };
  assertOffered(promoted, [...releases, promoted]);
  return { release: promoted, entry: { ...draft, id } };
}

function assertPromotable(source: Release, to: string, { isPrerelease }: Confirmations): void {
  const version = formatVersion(source.version);
  if (source.sample) throw invalidRelease(`${source.id} is a sample, which is not promoted.`);
  if (source.yanked) throw new AppError("release_yanked", `${source.id} is yanked, so it is not promoted.`);
  if (to !== "stable" || source.version.prerelease.length === 0 || isPrerelease) return;
  throw invalidRelease(
    `${version} is a prerelease, and every client would compare with its version: publish the final version, or confirm with --prerelease.`,
  );
}
