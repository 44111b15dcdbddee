import { downloadUrl } from "../download-url";
import { formatVersion, type Platform, type Release } from "../schema";
import { type Feed, type FeedInput, selectByFileName } from "./feed";

/**
 * electron-updater: the fields of latest.yml (electron-builder, UpdateInfo). The client compares versions itself,
 * so the answer is always 200. `stagingPercentage` is left out: the rollout is decided here.
 */
export const electron: Feed = {
  name: "electron",
  selectArtifact: selectByFileName({ windows: /\.exe$/i, macos: /\.zip$/i }),
  requirements: "electron-updater takes an .exe on Windows and a .zip on macOS.",
  comparesSystemVersion: comparesSystem,
  canDowngrade: true,
  contentType: "application/yaml; charset=utf-8", // RFC 9512
  render: write,
};

function write({ release, selected: offer, baseUrl, heldVersion: ahead }: FeedInput): string {
  // A client that allows downgrades would take any other version, so this one hears its own.
  if (ahead) return `version: ${scalar(formatVersion(ahead))}\nfiles: []\n`;
  const { artifact, kind } = offer;
  const minimum = release.minimumSystemVersion && kernelVersion(release.platform, release.minimumSystemVersion);
  return [
    `version: ${scalar(formatVersion(release.version))}`,
    "files:",
    `  - url: ${scalar(downloadUrl(baseUrl, release, kind))}`,
    `    sha512: ${scalar(artifact.sha512)}`,
    `    size: ${artifact.sizeBytes}`,
    `path: ${scalar(artifact.fileName)}`,
    `sha512: ${scalar(artifact.sha512)}`,
    `releaseDate: ${scalar(release.releasedAt.toISOString())}`,
    ...(release.notes === "" ? [] : [`releaseNotes: ${scalar(release.notes)}`]),
    ...(minimum ? [`minimumSystemVersion: ${scalar(minimum)}`] : []),
    "",
  ].join("\n");
}

/** A JSON string is a double-quoted scalar of YAML (1.2.2, 7.3.1), whatever is in it. */
const scalar = (text: string): string => JSON.stringify(text);

/**
 * electron-updater compares with `os.release()`: the version itself on Windows, but Darwin's on macOS, of which
 * only the major one follows from macOS's: 10.15 is Darwin 19, 11 to 15 are Darwin 20 to 24, and 26 is Darwin 25.
 */
function kernelVersion(platform: Platform, systemVersion: string): string | null {
  const [major = 0, minor = 0, patch = 0] = systemVersion.split(".").map(Number);
  if (platform === "windows") return `${major}.${minor}.${patch}`;
  if (major < 11) return major < 10 ? null : `${minor + 4}.0.0`;
  return `${major < 26 ? major + 9 : major - 1}.0.0`;
}

/** Whether all of a minimum is in what electron-updater hears of it. */
function comparesSystem({ platform, minimumSystemVersion: minimum }: Release): boolean {
  if (minimum === null) return true;
  const [major = 0, minor = 0, ...rest] = minimum.split(".").map(Number);
  if (platform === "windows") return rest.slice(1).every((number) => number === 0);
  return major >= 10 && [...(major === 10 ? [] : [minor]), ...rest].every((number) => number === 0);
}
