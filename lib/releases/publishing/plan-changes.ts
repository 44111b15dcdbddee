import { isDeepStrictEqual } from "node:util";
import { compareBuild } from "semver";
import { AppError } from "../../errors";
import { requireReleaseAccess, type WithAccess } from "../access";
import { foreignAppcast } from "../formats/signed-appcast";
import { shareComputers } from "../platforms";
import { formatVersion, type Release } from "../schema";
import { filterReleases, selectReleases } from "./filter-releases";
import { invalidRelease, refuse } from "./invalid-release";
import { type EditableManifest, identityOf, type ManifestEntry, makeReleaseId, parseRelease } from "./manifest-file";
import {
  assertOffered,
  assertPublishable,
  assertSignedDocuments,
  lowBuildVersion,
  wrongRequirement,
} from "./publish-checks";
import type {
  ChangedRelease,
  ChangeResult,
  Confirmations,
  PromotedReleases,
  Promotion,
  ReleasesFilter,
  Rollback,
  RolledBack,
} from "./schema";

/** What a change makes of a manifest: `releases` are the parsed `entries`, as `result` describes. */
export type ManifestPlan<T> = Pick<EditableManifest, "entries" | "releases"> & { result: T };

/** Applies a change to the releases that the filter selects. Writes nothing. @throws AppError */
export function planUpdate(
  { entries, releases }: Pick<EditableManifest, "entries" | "releases">,
  filter: WithAccess<ReleasesFilter>,
  change: ChangedRelease,
): ManifestPlan<ChangeResult["releases"]> {
  const selected = selectReleases(releases, filter);
  const names = Object.keys(change) as (keyof ChangedRelease)[];
  const changed = new Map<Release, { entry: ManifestEntry; parsed: Release }>();
  for (const [i, before] of entries.entries()) {
    const release = releases[i];
    if (!release || !selected.includes(release)) continue;
    const entry = applyChange(before, change);
    const parsed = parseRelease(entry);
    if (change.requiresFrom !== undefined) refuse(wrongRequirement(parsed));
    if (change.buildVersion !== undefined) {
      refuse(lowBuildVersion(parsed, releases));
      refuse(foreignAppcast(parsed));
    }
    if (names.some((name) => !isDeepStrictEqual(parsed[name], release[name]))) changed.set(release, { entry, parsed });
  }
  const outcomeOf = (release: Release) => (changed.has(release) ? "changed" : "unchanged");
  const result = selected.map((release) => ({ id: release.id, outcome: outcomeOf(release) }) as const);
  if (changed.size === 0) return { entries, releases, result };
  return {
    entries: entries.map((entry, i) => changed.get(releases[i] as Release)?.entry ?? entry),
    releases: releases.map((release) => changed.get(release)?.parsed ?? release),
    result,
  };
}

function applyChange(entry: ManifestEntry, change: ChangedRelease): ManifestEntry {
  const fields = Object.entries({ ...entry, ...change });
  return Object.fromEntries(fields.filter(([name, value]) => !(name in change && value === null)));
}

/** The ids of releases of the same channel and computers that are newer than one of `ids`, and still served. */
export function findNewerServedReleases(releases: readonly Release[], ids: readonly string[]): string[] {
  const streamOf = ({ product, platform, channel }: Release) => [product, platform, channel].join("/");
  const older = releases.filter(({ id }) => ids.includes(id));
  const isNewer = (release: Release) =>
    older.some(
      (other) =>
        streamOf(release) === streamOf(other) &&
        shareComputers(release.architecture, other.architecture) &&
        compareBuild(release.version, other.version) > 0,
    );
  return releases.filter((release) => !release.yanked && release.rollout > 0 && isNewer(release)).map(({ id }) => id);
}

/** Makes releases rollbacks for everybody, and withdraws newer ones for the same computers. @throws AppError */
export function planRollback(
  { entries, releases }: EditableManifest,
  filter: WithAccess<ReleasesFilter>,
  withdrawal: Rollback["withdrawal"],
): ManifestPlan<Omit<RolledBack, "notes">> {
  const targets = selectReleases(releases, filter);
  const yanked = targets.find((release) => release.yanked);
  if (yanked) throw new AppError("release_yanked", `${yanked.id} is yanked, so nobody can roll back to it.`);
  const ids = targets.map(({ id }) => id);
  const withdrawn = findNewerServedReleases(releases, ids).filter((id) => !ids.includes(id));
  const marked = planUpdate({ entries, releases }, { ids }, { rollback: true, rollout: 100 });
  if (withdrawn.length === 0) return { ...marked, result: { releases: marked.result, withdrawn } };
  const change = withdrawal === "yank" ? { yanked: true } : { rollout: 0 };
  return { ...planUpdate(marked, { ids: withdrawn }, change), result: { releases: marked.result, withdrawn } };
}

/**
 * Adds a release with the same version, files and notes on another channel for each selected one. Writes nothing.
 * @throws AppError if a release is a prerelease, yanked or a sample, or the channel has the version with other files;
 *   and from `assertPublishable`, `assertSignedDocuments` and `requireReleaseAccess`
 */
export function planPromotion(
  manifest: EditableManifest,
  filter: WithAccess<ReleasesFilter>,
  promotion: Omit<Promotion, "filter">,
  releasedAt: string,
): ManifestPlan<PromotedReleases["releases"]> {
  const onChannel = filterReleases(manifest.releases, { channel: promotion.from });
  const selected = selectReleases(onChannel, filter);
  const result: PromotedReleases["releases"] = [];
  let { entries, releases } = manifest;
  for (const source of selected) {
    requireReleaseAccess(filter.access, { product: source.product, channel: promotion.to });
    const planned = promote({ ...manifest, entries, releases }, source, promotion, releasedAt);
    result.push({ id: planned.release.id, from: source.id, outcome: planned.entry ? "added" : "unchanged" });
    if (!planned.entry) continue;
    entries = [...entries, planned.entry];
    releases = [...releases, planned.release];
  }
  for (const { id, outcome } of result) {
    const release = releases.find((one) => one.id === id);
    if (!release || outcome !== "added") continue;
    assertSignedDocuments({ before: undefined, release }, releases, promotion.confirmations ?? {});
  }
  return { entries, releases, result };
}

/** `entry` null: it was promoted before. */
function promote(
  { entries, releases }: EditableManifest,
  source: Release,
  { to, rollout = 100, confirmations = {} }: Omit<Promotion, "filter">,
  releasedAt: string,
): { release: Release; entry: ManifestEntry | null } {
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
