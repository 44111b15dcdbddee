import type { Platform } from "../platforms";
import { downloadUrl } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";
import { type FormatInput, selectByFileName, type VersionFormat } from "./version-format";

const selectUpdate = selectByFileName({ windows: /\.exe$/i, macos: /\.zip$/i, linux: /\.(appimage|deb|rpm|pacman)$/i });

/** The fields of latest.yml (electron-builder, UpdateInfo). The client compares versions, so it is always 200. */
export const electron: VersionFormat = {
  name: "electron",
  selectArtifact: (release) => (release.signedDocuments.electron === null ? undefined : selectUpdate(release)),
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
  const { fileName, sha512, sizeBytes } = artifact;
  const file = { url: downloadUrl(baseUrl, release, artifact), sha512, sizeBytes };
  return renderUpdateInfo(release, [file], fileName, minimum);
}

type FileEntry = Pick<Artifact, "sha512" | "sizeBytes" | "embeddedBlockMapBytes"> & { url: string };

/** `path` and the first hash are for electron-updater 2. `minimumSystemVersion` is as `kernelVersion` returns it. */
export function renderUpdateInfo(
  { platform, version, notes, releasedAt }: Release,
  files: readonly FileEntry[],
  path: string,
  minimumSystemVersion: string | null,
): string {
  // A kernel of Linux, such as 5.15.0-91-generic, is a prerelease to the client's comparison.
  const suffix = platform === "linux" ? "-0" : "";
  return [
    `version: ${yamlString(formatVersion(version))}`,
    "files:",
    ...files.flatMap(({ url, sha512, sizeBytes, embeddedBlockMapBytes }) => [
      `  - url: ${yamlString(url)}`,
      `    sha512: ${yamlString(sha512)}`,
      `    size: ${sizeBytes}`,
      ...(embeddedBlockMapBytes ? [`    blockMapSize: ${embeddedBlockMapBytes}`] : []),
    ]),
    `path: ${yamlString(path)}`,
    `sha512: ${yamlString(files[0]?.sha512 ?? "")}`,
    `releaseDate: ${yamlString(releasedAt.toISOString())}`,
    ...(notes === "" ? [] : [`releaseNotes: ${yamlString(notes)}`]),
    ...(minimumSystemVersion ? [`minimumSystemVersion: ${yamlString(minimumSystemVersion + suffix)}`] : []),
    "",
  ].join("\n");
}

/** The file for a client with allowDowngrade, which installs any other version: it is sent the version it has. */
export function renderInstalledVersion(version: string): string {
  return `version: ${yamlString(version)}\nfiles: []\n`;
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

/** The system version that `kernelVersion` turned into this one. */
export function systemVersionOf(platform: Platform, kernel: string): string {
  const [major = 0] = kernel.split(".").map(Number);
  if (platform !== "macos" || major < 10) return kernel;
  if (major < 20) return `10.${major - 4}`;
  return `${major < 25 ? major - 9 : major + 1}.0`;
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
