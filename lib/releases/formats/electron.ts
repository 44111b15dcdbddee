import type { Platform } from "../platforms";
import { downloadUrl } from "../release-files";
import { formatVersion, type Release } from "../schema";
import { type FormatInput, selectByFileName, type VersionFormat } from "./version-format";

/** The fields of latest.yml (electron-builder, UpdateInfo). The client compares versions, so it is always 200. */
export const electron: VersionFormat = {
  name: "electron",
  selectArtifact: selectByFileName({ windows: /\.exe$/i, macos: /\.zip$/i, linux: /\.(appimage|deb|rpm|pacman)$/i }),
  requirements:
    "electron-updater needs an .exe on Windows, a .zip on macOS, and on Linux the file of its bundleType: an .AppImage, .deb, .rpm or .pacman.",
  requiresBundleType: true,
  comparesSystemVersion: comparesKernelVersion,
  canDowngrade: true,
  contentType: "application/yaml; charset=utf-8", // RFC 9512
  render,
};

function render({ release, artifact, baseUrl, installedVersionToReport }: FormatInput): string {
  if (installedVersionToReport) return renderInstalledVersion(formatVersion(installedVersionToReport));
  const minimum = release.minimumSystemVersion && kernelVersion(release.platform, release.minimumSystemVersion);
  return [
    `version: ${yamlString(formatVersion(release.version))}`,
    "files:",
    `  - url: ${yamlString(downloadUrl(baseUrl, release, artifact))}`,
    `    sha512: ${yamlString(artifact.sha512)}`,
    `    size: ${artifact.sizeBytes}`,
    `path: ${yamlString(artifact.fileName)}`,
    `sha512: ${yamlString(artifact.sha512)}`,
    ...releaseFields(release, minimum),
    "",
  ].join("\n");
}

/** The file for a client with allowDowngrade, which installs any other version: it is sent the version it has. */
export function renderInstalledVersion(version: string): string {
  return `version: ${yamlString(version)}\nfiles: []\n`;
}

/** The fields of a release, which follow those of its files. `minimumSystemVersion` is as `kernelVersion` returns it. */
export function releaseFields({ notes, releasedAt }: Release, minimumSystemVersion: string | null): string[] {
  return [
    `releaseDate: ${yamlString(releasedAt.toISOString())}`,
    ...(notes === "" ? [] : [`releaseNotes: ${yamlString(notes)}`]),
    ...(minimumSystemVersion ? [`minimumSystemVersion: ${yamlString(minimumSystemVersion)}`] : []),
  ];
}

/**
 * The version that electron-updater compares with `os.release()`: the kernel's on Linux, Darwin's on macOS.
 * macOS 10.15 is Darwin 19, 11 to 15 are Darwin 20 to 24, and 26 is Darwin 25; minor versions do not correspond.
 */
export function kernelVersion(platform: Platform, systemVersion: string): string | null {
  const [major = 0, minor = 0, patch = 0] = systemVersion.split(".").map(Number);
  if (platform !== "macos") return `${major}.${minor}.${patch}`;
  if (major < 11) return major < 10 ? null : `${minor + 4}.0.0`;
  return `${major < 26 ? major + 9 : major - 1}.0.0`;
}

/** Whether `kernelVersion` keeps every number of the minimum system version. */
export function comparesKernelVersion({ platform, minimumSystemVersion: minimum }: Release): boolean {
  if (minimum === null) return true;
  const [major = 0, minor = 0, ...rest] = minimum.split(".").map(Number);
  if (platform !== "macos") return rest.slice(1).every((number) => number === 0);
  return major >= 10 && [...(major === 10 ? [] : [minor]), ...rest].every((number) => number === 0);
}

/** A text as a YAML scalar: every JSON string is a double-quoted one (YAML 1.2.2, section 7.3.1). */
export function yamlString(text: string): string {
  return JSON.stringify(text);
}
