import { tauri } from "../../formats/tauri";
import type { Platform } from "../../platforms";
import type { Artifact, Release } from "../../schema";
import { parseBundleType, selectByBundleType } from "../../selection/file-types";
import type { ArtifactSelector } from "../../selection/select-release";

/** The bundle types of each platform, the default one first. */
const BUNDLE_TYPES = {
  windows: ["nsis", "msi"],
  macos: ["app"],
  linux: ["appimage", "deb", "rpm"],
} as const satisfies Record<Platform, readonly string[]>;

/** The files of a release that Tauri can install, by bundle type. */
export function tauriFiles(release: Release): { bundleType: string; file: Artifact }[] {
  return BUNDLE_TYPES[release.platform].flatMap((bundleType) => {
    const file = selectByBundleType(tauri.selectArtifact, bundleType)(release);
    return file ? [{ bundleType, file }] : [];
  });
}

/**
 * Picks the file for an app that does not name its bundle type. On Linux that is an AppImage: plugins before 2.10, which
 * cannot name theirs, are documented for AppImages.
 */
export const defaultTauriFile: ArtifactSelector = (release) => {
  const [first] = tauriFiles(release);
  return release.platform === "linux" && first?.bundleType !== "appimage" ? undefined : first?.file;
};

/** The selector for a bundle type as the query has it. @throws AppError invalid_query for an unknown one */
export function tauriSelector(bundleType: string | undefined): ArtifactSelector {
  if (bundleType === undefined) return defaultTauriFile;
  const type = parseBundleType(bundleType);
  return selectByBundleType(type === "unknown" ? defaultTauriFile : tauri.selectArtifact, type);
}
