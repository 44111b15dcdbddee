import { isDeepStrictEqual } from "node:util";
import { type Artifact, type ArtifactKind, formatVersion, Release } from "../../releases/schema";
import { type EditableManifest, type ManifestEntry, PublishingError } from "./manifest-file";
import { assertPublishable, type Confirmations } from "./publish-checks";

/** An artifact as a manifest has it. */
export type ArtifactEntry = Partial<Artifact> & Pick<Artifact, "fileName" | "sizeBytes" | "sha256" | "sha512">;

/** What is published: the release's members as somebody gave them, and the kinds that the artifact serves as. */
export type Addition = {
  release: ManifestEntry & { id?: string | undefined };
  kinds: readonly ArtifactKind[];
  artifact: ArtifactEntry;
  confirmations?: Confirmations;
};

/** The outcome. An `extended` release was there before, an `unchanged` one just like that. */
export type AddResult = { id: string; outcome: "added" | "extended" | "unchanged"; removedSamples: readonly Release[] };

/**
 * Adds an artifact to a manifest's entries: in a new release, or in the one of the same product, platform,
 * architecture, channel and version. The same bytes may be published again, with other notes or from another
 * place. The sample releases are removed: no real client may ever be offered one. Pure.
 * @throws PublishingError where other bytes are there already, where the release is yanked, for members that the
 * service would refuse, and for what `requireSound` refuses.
 */
export function planAddition(
  manifest: Pick<EditableManifest, "entries" | "releases">,
  { release: given, kinds, artifact, confirmations: allowed = {} }: Addition,
  now: Date,
): { entries: readonly ManifestEntry[]; release: Release; added: AddResult } {
  const { entries, releases, removedSamples } = withoutSamples(manifest);
  const artifacts = Object.fromEntries(kinds.map((kind) => [kind, defined(artifact)]));
  const releasedAt = now.toISOString();
  const release = parse({ id: "new", releasedAt, ...defined(given), artifacts });
  const members = { ...defined(given), ...identityOf(release) };
  const at = releases.findIndex((other) => isDeepStrictEqual(identityOf(other), identityOf(release)));
  const [before, entry] = [releases[at], entries[at]];
  const buildVersion = release.buildVersion ?? before?.buildVersion ?? null;
  assertPublishable({ ...release, buildVersion }, releases, { ...allowed, ...(before ? { isPrerelease: true } : {}) });
  if (!before || !entry) {
    const id = given.id ?? newId(releases, release);
    const added: AddResult = { id, outcome: "added", removedSamples };
    return { entries: [...entries, { id, releasedAt, ...members, artifacts }], release, added };
  }
  const { id } = before;
  if (given.id !== undefined && given.id !== id) throw new PublishingError(`This release has the id ${id} already.`);
  requireOpen(before, release, kinds);
  const own = entry.artifacts as Record<string, ArtifactEntry | undefined>;
  const merged = Object.fromEntries(kinds.map((kind) => [kind, { ...withoutPlace(own[kind]), ...defined(artifact) }]));
  const next = { ...entry, ...members, artifacts: { ...own, ...merged } };
  if (isDeepStrictEqual(next, entry)) return { entries, release, added: { id, outcome: "unchanged", removedSamples } };
  return { entries: entries.with(at, next), release, added: { id, outcome: "extended", removedSamples } };
}

/** The same entries where there is no sample among them. */
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
  const faults = parsed.error.issues.map(({ path, message }) => `  - ${path.join(".")}: ${message}`);
  throw new PublishingError(`This cannot be published:\n${faults.join("\n")}`);
}

function identityOf({ product, platform, architecture, channel, version }: Release) {
  return { product, platform, architecture, channel, version: formatVersion(version) };
}

function newId(releases: readonly Release[], release: Release): string {
  const { product, platform, architecture, channel, version } = identityOf(release);
  const plain = `${product}-${platform}-${architecture}-${version}`;
  const free = [plain, `${plain}-${channel}`].find((id) => id.length <= 128 && releases.every((one) => one.id !== id));
  if (free === undefined) throw new PublishingError("No id can be made for this release: name one with --id.");
  return free;
}

/** What was published once is kept for a year by whoever downloaded it: it never changes. */
function requireOpen(before: Release, release: Release, kinds: readonly ArtifactKind[]): void {
  const name = `${before.id} (${before.channel})`;
  if (before.yanked) throw new PublishingError(`${name} is yanked: publish a new version instead.`);
  const taken = kinds.find((kind) => {
    const own = before.artifacts[kind];
    return own !== undefined && own.sha256 !== release.artifacts[kind]?.sha256;
  });
  if (taken === undefined) return;
  throw new PublishingError(`${name} has an ${taken} with other bytes already: publish a new version instead.`);
}

function withoutPlace(artifact: ArtifactEntry | undefined): Partial<ArtifactEntry> {
  const { file: _, url: __, s3Key: ___, ...rest } = artifact ?? {};
  return rest;
}

/** Without the members that were not given. */
function defined<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
