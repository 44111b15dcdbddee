import { rm, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { compareBuild } from "semver";
import { CommandError, isAppError } from "../../../../lib/errors";
import { makeFolder } from "../../../../lib/platform/files/durable";
import { FileLockedError, lockFile } from "../../../../lib/platform/files/lock";
import type { ReleaseDraft } from "../../../../lib/releases/publishing/draft";
import type { ReleaseDocument } from "../../../../lib/releases/publishing/list";
import type { PublishedReleases } from "../../../../lib/releases/publishing/schema";
import type { ReleaseStore } from "../release-store";
import { downloadFile } from "./download";
import { type ArrivedFile, type DraftOptions, draftRelease, isNotOffered, noFiles } from "./drafts";
import { get, readBytes } from "./http";
import { platformIn, type SourceFile, type SourceRelease } from "./source";

export type ImportOptions = DraftOptions & {
  /** Keeps downloads until their release is imported. */
  folder: string;
  isDryRun: boolean;
  shouldPublish: boolean;
  onImported?: (imported: ImportedRelease) => void;
};

/** What happened to a release of the source. `releases`: its ids in the catalog. */
export type ImportedRelease = {
  version: string;
  channel: string;
  releasedAt: string | null;
  files: string[];
  skipped: string[];
  outcome: "added" | "changed" | "unchanged" | "new" | "refused";
  releases: string[];
  error?: { code: string; message: string };
};

export type ImportResult = { imported: ImportedRelease[]; published: string[]; notes: string[] };

/** Publishes drafts, which may ask the operator to confirm. */
type Publish = (drafts: readonly ReleaseDraft[]) => Promise<PublishedReleases>;

/** Errors that the next release would meet, too. */
const FATAL =
  /^(unreachable|unauthenticated|forbidden|rate_limited|catalog_(not_editable|invalid|unavailable)|disk_full|storage_full|http_.*)$/;

/** What the releases of a run share. `rollouts`: what the source states of the releases that the run is about, by their ids. */
type Run = ImportOptions & {
  store: ReleaseStore;
  publish: Publish;
  catalog: readonly ReleaseDocument[];
  rollouts: Map<string, number>;
};

/**
 * Imports releases, the oldest version first, and offers them to nobody. One that fails does not stop the others. Offers them
 * at the end, all at once, if `shouldPublish`. `onImported` receives each one at once.
 * @throws CommandError import_running; codes after which the next release would fail, too
 */
export async function importReleases(
  store: ReleaseStore,
  publish: Publish,
  releases: readonly SourceRelease[],
  options: ImportOptions,
): Promise<ImportResult> {
  const { product, folder, shouldPublish, isDryRun, onImported } = options;
  const unlock = await lockDownloads(folder);
  try {
    const run: Run = { ...options, store, publish, catalog: await ownReleases(store, product), rollouts: new Map() };
    const result: ImportResult = { imported: [], published: [], notes: [] };
    const notes = new Set<string>();
    for (const release of releases.toSorted((a, b) => compareBuild(a.version, b.version))) {
      const { notes: own = [], ...imported } = await importRelease(run, release);
      result.imported.push(imported);
      onImported?.(imported);
      for (const note of own) notes.add(note);
    }
    if (shouldPublish && !isDryRun) result.published = await offer(run);
    return { ...result, notes: [...notes] };
  } finally {
    await rmdir(folder).catch(() => {}); // a release that was refused keeps its downloads
    await unlock();
  }
}

/** Samples do not count: the first release that is published removes them. */
const ownReleases = async (store: ReleaseStore, product: string): Promise<ReleaseDocument[]> =>
  (await store.list({ product })).filter(({ sample }) => !sample);

/** Two runs would delete each other's downloads. */
async function lockDownloads(folder: string): Promise<() => Promise<void>> {
  await makeFolder(folder, 0o700);
  return lockFile(`${folder}.lock`).catch((error: Error) => {
    if (!(error instanceof FileLockedError)) throw error;
    throw new CommandError(
      "import_running",
      `This source is already being imported${error.pid && ` (pid ${error.pid})`}.`,
    );
  });
}

type Outcome = Pick<ImportedRelease, "outcome" | "releases"> & { skipped?: string[]; notes?: string[] };

async function importRelease(run: Run, release: SourceRelease): Promise<ImportedRelease & { notes?: string[] }> {
  const { version, channel, fields, files } = release;
  const described = {
    version,
    channel: run.channel ?? channel,
    releasedAt: fields.releasedAt ?? null,
    files: files.map(({ name }) => name),
    skipped: release.skipped,
  };
  try {
    return { ...described, ...(await bring(run, release)) };
  } catch (error) {
    if (!isExpected(error) || FATAL.test(error.code)) throw error;
    const { code, message } = error;
    return { ...described, outcome: "refused", releases: [], error: { code, message } };
  }
}

const isExpected = (error: unknown): error is Error & { code: string } =>
  error instanceof CommandError || isAppError(error);

async function bring(run: Run, release: SourceRelease): Promise<Outcome> {
  const { isDryRun, shouldPublish, rollouts } = run;
  if (release.files.length === 0) throw noFiles();
  const known = findKnown(run.catalog, release);
  const outcome = { outcome: "unchanged", releases: known.map(({ id }) => id) } as const;
  if (isDryRun) return known.length > 0 ? outcome : { outcome: "new", releases: [] };
  if (known.length === 0) return add(run, (await release.complete?.()) ?? release);
  if (shouldPublish && known.some(isNotOffered)) {
    const whole = (await release.complete?.()) ?? release;
    for (const { id, platform } of known) rollouts.set(id, rolloutOf(whole, platform));
  }
  return outcome;
}

async function add(run: Run, release: SourceRelease): Promise<Outcome> {
  const { store, publish, product, folder, rollouts } = run;
  const arrived: ArrivedFile[] = [];
  for (const source of release.files) arrived.push(await fetchFile(folder, source));
  const { drafts, skipped } = await draftRelease(release, arrived, run);
  const { releases, notes } = await publish(drafts.map((draft) => withoutKnownFields(draft, run.catalog)));
  for (const [index, { id }] of releases.entries()) {
    rollouts.set(id, rolloutOf(release, String(drafts[index]?.release.platform)));
  }
  run.catalog = await ownReleases(store, product);
  for (const { file } of arrived) await rm(path.dirname(file), { recursive: true, force: true });
  const outcome = (["added", "changed"] as const).find((one) => releases.some((other) => other.outcome === one));
  return {
    outcome: outcome ?? "unchanged",
    releases: releases.map(({ id }) => id),
    skipped: [...release.skipped, ...skipped],
    notes,
  };
}

/** The percentage that the source states. */
function rolloutOf({ fields, files }: SourceRelease, platform: string): number {
  const own = files.find((file) => file.platform === platform && file.fields?.rollout !== undefined);
  return own?.fields?.rollout ?? fields.rollout ?? 100;
}

/**
 * The catalog's releases that have the files. None if one of them is missing, or the source does not state enough to know. An
 * archive that no name assigns to a platform does not count beside other files: it may have been skipped.
 */
function findKnown(catalog: readonly ReleaseDocument[], { version, files }: SourceRelease): ReleaseDocument[] {
  const counted = files.filter(({ name, platform }) => platform ?? platformIn(name));
  const known = (counted.length > 0 ? counted : files).map((file) =>
    catalog.find((release) => hasFile(release, version, file)),
  );
  return known.every((release) => release !== undefined) ? [...new Set(known)] : [];
}

function hasFile(release: ReleaseDocument, version: string, file: SourceFile): boolean {
  const { platform = release.platform, architecture = release.architecture } = file;
  if (release.platform !== platform || release.architecture !== architecture) return false;
  const { installer, update, others, deltas } = release.artifacts;
  return [installer, update, ...others, ...deltas].some((artifact) => {
    if (artifact?.fileName !== (file.fileName ?? file.name)) return false;
    const signature = file.edSignature ?? file.minisign?.replaceAll(/\s/g, "");
    if (signature !== undefined && [artifact.edSignature, artifact.minisign].includes(signature)) return true;
    const stated = (name: "sizeBytes" | "sha1" | "sha256" | "sha512") =>
      file.expected.flatMap((one) => (one[name] === undefined ? [] : [one[name] === artifact[name]]));
    const hashes = (["sha1", "sha256", "sha512"] as const).flatMap(stated);
    const isOfVersion = release.version === version && stated("sizeBytes").length > 0;
    return (hashes.length > 0 || isOfVersion) && [...hashes, ...stated("sizeBytes")].every(Boolean);
  });
}

/** A release that exists keeps its fields: the operator may have changed them since. */
function withoutKnownFields(draft: ReleaseDraft, catalog: readonly ReleaseDocument[]): ReleaseDraft {
  const { product, platform, architecture, channel, version } = draft.release;
  const isKnown = catalog.some(
    (one) =>
      one.platform === platform &&
      one.architecture === architecture &&
      one.channel === channel &&
      one.version === version,
  );
  return isKnown ? { ...draft, release: { product, platform, architecture, channel, version } } : draft;
}

/** A block map that cannot be had is made anew. */
async function fetchFile(folder: string, source: SourceFile): Promise<ArrivedFile> {
  const file = await downloadFile(folder, source);
  if (source.blockMapUrl === undefined) return { source, file };
  const response = await get(source.blockMapUrl, source.headers);
  if (response.ok) await writeFile(`${file}.blockmap`, await readBytes(source.blockMapUrl, response));
  else await response.body?.cancel();
  return { source, file };
}

/** Offers the releases of the run that were imported and not offered yet. Returns their ids. */
async function offer({ store, catalog, rollouts }: Run): Promise<string[]> {
  const waiting = catalog.filter((release) => rollouts.get(release.id) && isNotOffered(release) && !release.yanked);
  const ids = waiting.map(({ id }) => id);
  for (const rollout of new Set(ids.map((id) => rollouts.get(id)))) {
    await store.update({ ids: ids.filter((id) => rollouts.get(id) === rollout) }, { rollout, rolloutSeries: null });
  }
  return ids;
}
