import { perObject } from "../../platform/per-object";
import type { Platform } from "../platforms";
import type { Artifact, Release } from "../schema";
import { notAllowed } from "./parse-query";
import type { ArtifactSelector } from "./select-release";

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

/** What updates an app, by Tauri's `{{bundle_type}}` and electron-builder's `package-type`. `app` is macOS's. */
const BUNDLE_TYPES = {
  appimage: /\.appimage(\.tar\.gz)?$/i,
  deb: FILE_TYPES.deb,
  rpm: FILE_TYPES.rpm,
  pacman: FILE_TYPES.pacman,
  nsis: /\.exe$|\.(exe|nsis)\.zip$/i,
  msi: /\.msi(\.zip)?$/i,
  app: /(?:)/,
} as const satisfies Record<string, RegExp>;

type BundleType = keyof typeof BUNDLE_TYPES | "unknown";

/** Parses `format=` of a download, case-insensitively. @throws AppError invalid_query with `allowed` */
export function parseFileType(format: string): FileType {
  return parseName(format, Object.keys(FILE_TYPES) as FileType[], "format");
}

/** Parses `bundleType=`, case-insensitively. @throws AppError invalid_query with `allowed` */
export function parseBundleType(bundleType: string): BundleType {
  const names = Object.keys(BUNDLE_TYPES) as (keyof typeof BUNDLE_TYPES)[];
  return parseName(bundleType, [...names, "unknown"], "bundleType");
}

function parseName<T extends string>(text: string, names: readonly T[], parameter: string): T {
  const name = names.find((one) => one === text.toLowerCase());
  if (name !== undefined) return name;
  throw notAllowed({ [parameter]: names });
}

/** The type of a file; null for one that people do not install. */
export function fileTypeOf({ fileName }: Pick<Artifact, "fileName">): FileType | null {
  const types = Object.keys(FILE_TYPES) as FileType[];
  return types.find((type) => FILE_TYPES[type].test(fileName)) ?? null;
}

/** Restricts a selector to the files of one type. Returns the same function every time: caches are keyed by it. */
export function selectByFileType(select: ArtifactSelector, type: FileType): ArtifactSelector {
  return restrict(select, `file ${type}`, ({ fileName }) => FILE_TYPES[type].test(fileName));
}

/** The files for an app of a bundle type. An unknown one on Linux has none: an AppImage cannot replace a package. */
export function selectByBundleType(select: ArtifactSelector, type: BundleType): ArtifactSelector {
  if (type === "unknown") return restrict(select, "unknown", (_, platform) => platform !== "linux");
  return restrict(select, `bundle ${type}`, ({ fileName }) => BUNDLE_TYPES[type].test(fileName));
}

const restrictedOf = perObject((_select: ArtifactSelector) => new Map<string, ArtifactSelector>());

function restrict(
  select: ArtifactSelector,
  key: string,
  accepts: (artifact: Artifact, platform: Platform) => boolean,
): ArtifactSelector {
  const known = restrictedOf(select);
  const selector = known.get(key) ?? ((release: Release) => select(withFiles(release, accepts)));
  known.set(key, selector);
  return selector;
}

function withFiles(release: Release, accepts: (artifact: Artifact, platform: Platform) => boolean): Release {
  const { installer, update, others, deltas } = release.artifacts;
  const keep = (artifact: Artifact | undefined) =>
    artifact && accepts(artifact, release.platform) ? artifact : undefined;
  return {
    ...release,
    artifacts: { installer: keep(installer), update: keep(update), others: others.filter(keep), deltas },
  };
}
