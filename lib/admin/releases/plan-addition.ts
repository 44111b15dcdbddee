import { isDeepStrictEqual } from "node:util";
import { type Artifact, type ArtifactKind, formatVersion, Release } from "../../releases/schema";
import { type EditableManifest, type ManifestEntry, PublishingError } from "./manifest-file";
import { assertPublishable, type Confirmations } from "./publish-checks";

/** An artifact's entry in the manifest. */
export type ArtifactEntry = Partial<Artifact> & Pick<Artifact, "fileName" | "sizeBytes" | "sha256" | "sha512">;

/** The fields of a release to publish, unvalidated, and the kinds that its artifact is published as. */
export type Addition = {
  release: ManifestEntry & { id?: string | undefined };
  kinds: readonly ArtifactKind[];
  artifact: ArtifactEntry;
  confirmations?: Confirmations;
};

/** "changed": the release existed. "unchanged": it existed with the same fields. */
export type AddResult = {
  id: string;
  outcome: "added" | "changed" | "unchanged";
  removedSamples: readonly Release[];
};

/**
 * Plans how an artifact enters a manifest: in a new release, or in the existing one of the same product, platform,
 * architecture, channel and version. The same bytes may be published again with other fields or another location.
 * Removes the sample releases. Pure.
 * @throws PublishingError if the release has other bytes or is yanked, for fields that the service would reject, and
 * from `assertPublishable`
 */
export function planAddition(
  manifest: Pick<EditableManifest, "entries" | "releases">,
  { release: fields, kinds, artifact, confirmations = {} }: Addition,
  now: Date,
): { entries: readonly ManifestEntry[]; release: Release; added: AddResult } {
  const { entries, releases, removedSamples } = withoutSamples(manifest);
  const artifacts = Object.fromEntries(kinds.map((kind) => [kind, withoutUndefined(artifact)]));
  const releasedAt = now.toISOString();
  const release = parse({ id: "new", releasedAt, ...withoutUndefined(fields), artifacts });
  const canonicalFields = { ...withoutUndefined(fields), ...identityOf(release) };
  const at = releases.findIndex((other) => isDeepStrictEqual(identityOf(other), identityOf(release)));
  const [before, entry] = [releases[at], entries[at]];
  const buildVersion = release.buildVersion ?? before?.buildVersion ?? null;
  const isPrerelease = before ? true : confirmations.isPrerelease;
  assertPublishable({ ...release, buildVersion }, releases, { ...confirmations, isPrerelease });
  if (!before || !entry) {
    const id = fields.id ?? makeReleaseId(releases, release);
    const added: AddResult = { id, outcome: "added", removedSamples };
    return { entries: [...entries, { id, releasedAt, ...canonicalFields, artifacts }], release, added };
  }
  const { id } = before;
  if (fields.id !== undefined && fields.id !== id) {
    throw new PublishingError(`This release already has the id ${id}.`);
  }
  assertSameBytes(before, release, kinds);
  const own = entry.artifacts as Record<string, ArtifactEntry | undefined>;
  const merged = Object.fromEntries(
    kinds.map((kind) => [kind, { ...withoutLocation(own[kind]), ...withoutUndefined(artifact) }]),
  );
  const next = { ...entry, ...canonicalFields, artifacts: { ...own, ...merged } };
  if (isDeepStrictEqual(next, entry)) return { entries, release, added: { id, outcome: "unchanged", removedSamples } };
  return { entries: entries.with(at, next), release, added: { id, outcome: "changed", removedSamples } };
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

function parse(draft: ManifestEntry): Release {
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
function assertSameBytes(before: Release, release: Release, kinds: readonly ArtifactKind[]): void {
  const name = `${before.id} (${before.channel})`;
  if (before.yanked) throw new PublishingError(`${name} is yanked: publish a new version instead.`);
  const changed = kinds.find((kind) => {
    const own = before.artifacts[kind];
    return own !== undefined && own.sha256 !== release.artifacts[kind]?.sha256;
  });
  if (changed === undefined) return;
  throw new PublishingError(`${name} already has an ${changed} with other bytes: publish a new version instead.`);
}

function withoutLocation(artifact: ArtifactEntry | undefined): Partial<ArtifactEntry> {
  const { file: _, url: __, s3Key: ___, ...rest } = artifact ?? {};
  return rest;
}

function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
