import { AppError } from "../../errors";
import { completeFiles } from "../release-files";
import type { Artifact, Platform, Release } from "../schema";
import type { ArtifactSelector } from "./selection";

/** The types of files that people choose from, by their names. */
const FILE_TYPES = {
  appimage: /\.appimage$/i,
  deb: /\.deb$/i,
  rpm: /\.rpm$/i,
  pacman: /\.(pacman|pkg\.tar\.\w+)$/i,
  tar: /(?<!\.appimage|\.pkg)\.(tar\.\w+|tgz)$/i,
  exe: /\.exe$/i,
  msi: /\.msi$/i,
  msix: /\.(msix|appx)(bundle)?$/i,
  dmg: /\.dmg$/i,
  pkg: /\.m?pkg$/i,
  zip: /\.zip$/i,
} as const satisfies Record<string, RegExp>;

export type FileType = keyof typeof FILE_TYPES;

/** Parses `format=` of a download, case-insensitively. @throws AppError invalid_query with `allowed` */
export function parseFileType(format: string): FileType {
  return parseName(format, Object.keys(FILE_TYPES) as FileType[], "format");
}

function parseName<T extends string>(text: string, names: readonly T[], parameter: string): T {
  const name = names.find((one) => one === text.toLowerCase());
  if (name !== undefined) return name;
  const detail = `Must be one of ${names.join(", ")}`;
  const errors = [{ pointer: `?${parameter}`, code: "invalid_value", detail }];
  throw new AppError("invalid_query", { errors, fields: { allowed: { [parameter]: names } } });
}

/** Restricts a selector to the files of one type. Returns the same function every time: caches are keyed by it. */
export function selectByFileType(select: ArtifactSelector, type: FileType): ArtifactSelector {
  return restrict(select, `file ${type}`, ({ fileName }) => FILE_TYPES[type].test(fileName));
}

const restricted = new WeakMap<ArtifactSelector, Map<string, ArtifactSelector>>();

function restrict(
  select: ArtifactSelector,
  key: string,
  accepts: (artifact: Artifact, platform: Platform) => boolean,
): ArtifactSelector {
  const known = restricted.get(select) ?? new Map<string, ArtifactSelector>();
  restricted.set(select, known);
  const selector = known.get(key) ?? ((release: Release) => select(withFiles(release, accepts)));
  known.set(key, selector);
  return selector;
}

function withFiles(release: Release, accepts: (artifact: Artifact, platform: Platform) => boolean): Release {
  const accepted = new Set(completeFiles(release).filter((artifact) => accepts(artifact, release.platform)));
  const { installer, update, others, deltas } = release.artifacts;
  const keep = (artifact: Artifact | undefined) => (artifact && accepted.has(artifact) ? { artifact } : {});
  return {
    ...release,
    artifacts: {
      installer: keep(installer).artifact,
      update: keep(update).artifact,
      others: others.filter((artifact) => accepted.has(artifact)),
      deltas,
    },
  };
}
