import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../errors";
import { fieldMessage } from "../../platform/field-message";
import { releaseFiles } from "../release-files";
import { ArtifactKind, type Release } from "../schema";
import { PublicKeys, publicKeysOf } from "../signatures";
import type { ArtifactEntry, HashedDraft, HashedFile } from "./draft";
import { invalidRelease } from "./invalid-release";
import { type EditableManifest, identityOf, makeReleaseId, parseRelease } from "./manifest-file";
import { assertOffered, assertPublishable, assertSignedDocuments } from "./publish-checks";
import { hasNewFiles, joinPublishers } from "./published-by";
import type { Confirmations, PublishedReleases } from "./schema";

/** "changed": the release existed. "unchanged": it existed with the same fields. */
export type AddedRelease = PublishedReleases["releases"][number];

/** The manifest with drafts added. `added` are the releases in the order of the drafts. */
export type Plan = EditableManifest & {
  added: readonly (AddedRelease & { release: Release })[];
  removedSamples: readonly Release[];
};

/**
 * Plans how drafts enter a manifest: each as a new release, or in the existing one of the same build, channel and
 * version, with the same bytes, perhaps other fields or another location. Removes the sample releases. Pure.
 * @throws AppError if a release has other bytes or is yanked, for fields that the service would reject, and from
 *   `assertPublishable`, `assertOffered`, `assertSignedDocuments` and `mergePublicKeys`
 */
export function planAdditions(manifest: EditableManifest, drafts: readonly HashedDraft[], now: Date): Plan {
  const start: Plan = { ...withoutSamples(manifest), publicKeys: manifest.publicKeys, added: [] };
  const plan = drafts.reduce((before, draft) => planAddition(before, draft, now), start);
  for (const [i, { release, outcome }] of plan.added.entries()) {
    if (outcome === "unchanged") continue;
    assertOffered(release, plan.releases);
    const before = start.releases.find(({ id }) => id === release.id);
    assertSignedDocuments({ before, release }, plan.releases, drafts[i]?.confirmations ?? {});
  }
  return plan;
}

function planAddition(plan: Plan, draft: HashedDraft, now: Date): Plan {
  const { releases, entries } = plan;
  const { publicKeys: keys, confirmations = {} } = draft;
  const fields = withoutUndefined(draft.release);
  const artifacts = artifactEntries(draft);
  const releasedAt = now.toISOString();
  const release = parseRelease({ id: "new", releasedAt, ...fields, artifacts });
  const at = releases.findIndex((other) => isDeepStrictEqual(identityOf(other), identityOf(release)));
  const [before, entry] = [releases[at], entries[at]];
  const buildVersion = release.buildVersion ?? before?.buildVersion ?? null;
  const isPrerelease = before ? true : confirmations.isPrerelease;
  assertPublishable({ ...release, buildVersion }, releases, { ...confirmations, isPrerelease });
  const publicKeys = mergePublicKeys(plan, release.product, keys, confirmations);
  const named = { ...fields, ...identityOf(release) };
  if (!before || !entry) {
    const id = fields.id ?? makeReleaseId(releases, release);
    const next = { id, releasedAt, ...named, artifacts };
    const added = { id, outcome: "added" as const, release: { ...release, id } };
    return {
      ...plan,
      publicKeys,
      entries: [...entries, next],
      releases: [...releases, added.release],
      added: [...plan.added, added],
    };
  }
  const { id } = before;
  if (fields.id !== undefined && fields.id !== id) throw invalidRelease(`This release already has the id ${id}.`);
  assertSameBytes(before, release);
  const signedDocuments = { ...before.signedDocuments, ...release.signedDocuments };
  const next = withoutUndefined({
    ...entry,
    ...named,
    ...(Object.keys(signedDocuments).length > 0 && { signedDocuments }),
    publishedBy: hasNewFiles(before, release) ? joinPublishers(before, release) : entry.publishedBy,
    artifacts: mergeArtifacts(entry.artifacts as ArtifactEntries, artifacts),
  });
  const outcome = isDeepStrictEqual(next, entry) ? "unchanged" : "changed";
  const merged = parseRelease(next);
  return {
    ...plan,
    publicKeys,
    entries: outcome === "unchanged" ? entries : entries.with(at, next),
    releases: releases.with(at, merged),
    added: [...plan.added, { id, outcome, release: merged }],
  };
}

/** Returns the same arrays if there are no samples. */
function withoutSamples({ entries, releases }: Pick<EditableManifest, "entries" | "releases">) {
  const removedSamples = releases.filter(({ sample }) => sample);
  if (removedSamples.length === 0) return { entries, releases, removedSamples };
  return {
    entries: entries.filter((_, i) => !releases[i]?.sample),
    releases: releases.filter(({ sample }) => !sample),
    removedSamples,
  };
}

/** Clients and caches keep a published artifact for a year, so its bytes never change. */
function assertSameBytes(before: Release, release: Release): void {
  const name = `${before.id} (${before.channel})`;
  if (before.yanked) throw new AppError("release_yanked", `${name} is yanked: publish a new version instead.`);
  const changed = changedFile(before, release);
  if (changed === undefined) return;
  throw new AppError(
    "release_conflict",
    `${name} already has ${changed} with other bytes: publish a new version instead.`,
  );
}

/** Describes a file that both releases have, with other bytes: the same kind, or the same name. */
function changedFile(before: Release, release: Release): string | undefined {
  const kind = ArtifactKind.options.find((name) => {
    const [own, added] = [before.artifacts[name]?.sha256, release.artifacts[name]?.sha256];
    return own !== undefined && added !== undefined && own !== added;
  });
  if (kind) return `an ${kind}`;
  const hashes = new Map(releaseFiles(before).map(({ fileName, sha256 }) => [fileName, sha256]));
  const named = releaseFiles(release).find(({ fileName, sha256 }) => (hashes.get(fileName) ?? sha256) !== sha256);
  return named?.fileName;
}

const NAMES = { minisign: "minisign", ed: "EdDSA", manifest: "manifest" } as const;

/** Adds a product's keys to the catalog's. @throws AppError confirmation_required if one would replace another */
function mergePublicKeys(
  { publicKeys }: Pick<EditableManifest, "publicKeys">,
  product: string,
  input: HashedDraft["publicKeys"] = {},
  { isNew }: Confirmations,
): EditableManifest["publicKeys"] {
  const parsed = PublicKeys.safeParse(input, { error: fieldMessage });
  if (!parsed.success)
    throw new AppError("release_invalid", parsed.error.issues.map(({ message }) => message).join("; "));
  const own = publicKeysOf(publicKeys, product);
  const given = withoutUndefined(parsed.data);
  for (const kind of Object.keys(given) as (keyof PublicKeys)[]) {
    const before = own[kind];
    if (before === undefined || isNew || isDeepStrictEqual(before, given[kind])) continue;
    throw new AppError(
      "confirmation_required",
      `${product}'s ${NAMES[kind]} key is ${[before].flat().join(" or ")}: installed apps would reject signatures of another key. Confirm a new key with --new.`,
    );
  }
  const next = { ...own, ...given };
  return Object.keys(next).length === 0 ? publicKeys : { ...publicKeys, [product]: next };
}

/** The artifacts of a manifest's entry. A delta also has the version `from`. */
type ArtifactEntries = Partial<Record<ArtifactKind, ArtifactEntry>> & {
  others?: readonly ArtifactEntry[];
  deltas?: readonly (ArtifactEntry & { from?: string | undefined })[];
};

/** Makes an entry of a draft's files. @throws AppError if two files are the installer, or the update */
function artifactEntries({ files }: Pick<HashedDraft, "files">): ArtifactEntries {
  const entries: ArtifactEntries = {};
  for (const kind of ArtifactKind.options) {
    const [first, second] = filesOfKind(files, kind);
    if (first && second) {
      throw invalidRelease(`${first.artifact.fileName} and ${second.artifact.fileName} are both the ${kind}.`);
    }
    if (first) entries[kind] = withoutUndefined(first.artifact);
  }
  const others = filesOfKind(files, "other").map(({ artifact }) => withoutUndefined(artifact));
  const deltas = filesOfKind(files, "delta").map(({ artifact, from }) => withoutUndefined({ ...artifact, from }));
  return { ...entries, ...(others.length > 0 && { others }), ...(deltas.length > 0 && { deltas }) };
}

const filesOfKind = (files: readonly HashedFile[], kind: HashedFile["kinds"][number]) =>
  files.filter(({ kinds }) => kinds.includes(kind));

/** Adds artifacts to those of an entry. A kind, or a name among the others and deltas, replaces the earlier one. */
function mergeArtifacts(own: ArtifactEntries, added: ArtifactEntries): ArtifactEntries {
  const merged: ArtifactEntries = { ...own };
  for (const kind of ArtifactKind.options) {
    if (added[kind]) merged[kind] = { ...withoutLocation(own[kind]), ...added[kind] };
  }
  for (const list of ["others", "deltas"] as const) {
    if (added[list]) merged[list] = mergeByName(own[list] ?? [], added[list]);
  }
  return merged;
}

function mergeByName(own: readonly ArtifactEntry[], added: readonly ArtifactEntry[]): ArtifactEntry[] {
  const byName = new Map(own.map((artifact) => [artifact.fileName, artifact]));
  for (const artifact of added) {
    byName.set(artifact.fileName, { ...withoutLocation(byName.get(artifact.fileName)), ...artifact });
  }
  return [...byName.values()];
}

function withoutLocation(artifact: ArtifactEntry | undefined): Partial<ArtifactEntry> {
  const { file: _, url: __, s3Key: ___, ...rest } = artifact ?? {};
  return rest;
}

function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
