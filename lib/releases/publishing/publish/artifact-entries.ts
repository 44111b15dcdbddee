import { AppError } from "../../../errors";
import { ArtifactKind } from "../../schema";
import type { ArtifactEntry, HashedDraft, HashedFile } from "./draft";

/** The artifacts of a manifest's entry. A delta also has the version `from`. */
export type ArtifactEntries = Partial<Record<ArtifactKind, ArtifactEntry>> & {
  others?: readonly ArtifactEntry[];
  deltas?: readonly (ArtifactEntry & { from?: string | undefined })[];
};

/** Makes an entry of a draft's files. @throws AppError if two files are the installer, or the update */
export function artifactEntries({ files }: Pick<HashedDraft, "files">): ArtifactEntries {
  const entries: ArtifactEntries = {};
  for (const kind of ArtifactKind.options) {
    const [first, second] = filesOfKind(files, kind);
    if (first && second) {
      throw new AppError(
        "release_invalid",
        `${first.artifact.fileName} and ${second.artifact.fileName} are both the ${kind}.`,
      );
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
export function mergeArtifacts(own: ArtifactEntries, added: ArtifactEntries): ArtifactEntries {
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

export function withoutUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
