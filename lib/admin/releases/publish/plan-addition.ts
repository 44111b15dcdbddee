import { isDeepStrictEqual } from "node:util";
import { type Artifact, type ArtifactKind, formatVersion, Release } from "../../../releases/schema";
import type { EditableManifest, ManifestEntry } from "../manifest/manifest-file";
import { PublishingError } from "../manifest/publishing-error";
import type { ArtifactEntry, HashedDraft } from "./draft";
import { mergePublicKeys } from "./public-keys";
import { assertPublishable } from "./publish-checks";

/** "changed": the release existed. "unchanged": it existed with the same fields. */
export type AddedRelease = { id: string; outcome: "added" | "changed" | "unchanged" };

/** The manifest with drafts added. `added` are the releases in the order of the drafts. */
export type Plan = EditableManifest & {
  added: readonly (AddedRelease & { release: Release })[];
  removedSamples: readonly Release[];
};

/** The artifacts of an entry. */
type ArtifactEntries = Partial<Record<ArtifactKind, ArtifactEntry>>;

/**
 * Plans how drafts enter a manifest: each as a new release, or in the existing one of the same product, platform,
 * architecture, channel and version. The same bytes may be published again with other fields or another location.
 * Removes the sample releases. Pure.
 * @throws PublishingError if a release has other bytes or is yanked, for fields that the service would reject, and
 * from `assertPublishable` and `mergePublicKeys`
 */
export function planAdditions(manifest: EditableManifest, drafts: readonly HashedDraft[], now: Date): Plan {
  const start: Plan = { ...withoutSamples(manifest), publicKeys: manifest.publicKeys, added: [] };
  return drafts.reduce((plan, draft) => planAddition(plan, draft, now), start);
}

function planAddition(plan: Plan, draft: HashedDraft, now: Date): Plan {
  const { releases, entries } = plan;
  const { publicKeys: keys = {}, confirmations = {} } = draft;
  const fields = withoutUndefined(draft.release);
  const artifacts = artifactsOf(draft);
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
  if (fields.id !== undefined && fields.id !== id) throw new PublishingError(`This release already has the id ${id}.`);
  assertSameBytes(before, release);
  const next = { ...entry, ...named, artifacts: mergeArtifacts(entry.artifacts as ArtifactEntries, artifacts) };
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

/** @throws PublishingError if two files are the same kind */
function artifactsOf({ files }: HashedDraft): ArtifactEntries {
  const artifacts: ArtifactEntries = {};
  for (const { kinds, artifact } of files) {
    for (const kind of kinds) {
      if (artifacts[kind])
        throw new PublishingError(`${artifacts[kind].fileName} and ${artifact.fileName} are both the ${kind}.`);
      artifacts[kind] = withoutUndefined(artifact);
    }
  }
  return artifacts;
}

function mergeArtifacts(own: ArtifactEntries, added: ArtifactEntries): ArtifactEntries {
  const merged = Object.entries(added).map(([kind, artifact]) => {
    const { file: _, url: __, s3Key: ___, ...rest } = own[kind as ArtifactKind] ?? {};
    return [kind, { ...rest, ...artifact }];
  });
  return { ...own, ...Object.fromEntries(merged) };
}

function parseRelease(draft: ManifestEntry): Release {
  const parsed = Release.safeParse(draft);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `  - ${path.join(".")}: ${message}`);
  throw new PublishingError(`The release is not valid:\n${issues.join("\n")}`);
}

function identityOf({ product, platform, architecture, channel, version }: Release) {
  return { product, platform, architecture, channel, version: formatVersion(version) };
}

function makeReleaseId(releases: readonly Release[], release: Release): string {
  const { product, platform, architecture, channel, version } = identityOf(release);
  const plain = `${product}-${platform}-${architecture}-${version}`;
  const isFree = (id: string) => id.length <= 128 && releases.every((other) => other.id !== id);
  const id = [plain, `${plain}-${channel}`].find(isFree);
  if (id === undefined) throw new PublishingError("No id can be generated for this release: set one with --id.");
  return id;
}

/** Clients and caches keep a published artifact for a year, so its bytes never change. */
function assertSameBytes(before: Release, release: Release): void {
  const name = `${before.id} (${before.channel})`;
  if (before.yanked) throw new PublishingError(`${name} is yanked: publish a new version instead.`, "release_yanked");
  const hashOf = (artifact: Artifact | undefined) => artifact?.sha256;
  const changed = (["installer", "update"] as const).find((kind) => {
    const [own, added] = [hashOf(before.artifacts[kind]), hashOf(release.artifacts[kind])];
    return own !== undefined && added !== undefined && own !== added;
  });
  if (changed === undefined) return;
  throw new PublishingError(
    `${name} already has an ${changed} with other bytes: publish a new version instead.`,
    "release_conflict",
  );
}

function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
