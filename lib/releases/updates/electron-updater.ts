import type { DocumentContent } from "../../platform/response-content";
import { type Snapshot, versionReleases } from "../catalog/snapshot";
import { electron, kernelVersion, renderInstalledVersion, renderUpdateInfo } from "../formats/electron";
import { compareSystemVersions, normalizeArchitecture, type Platform } from "../platforms";
import { completeFiles } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";
import { isInRollout } from "../selection/select-release";
import { type SelectedUpdate, selectUpdate, type UpdaterRules } from "./select-update";
import { comparesSignedMinimum, findInstalledManifest, manifestOf, withSignedManifests } from "./signed-manifests";
import { storedFilePath } from "./stored-files";
import { recordCheck, toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

/** The extensions that electron-updater looks for on each platform; on Linux the one of the installed package. */
const EXTENSIONS: Readonly<Record<Platform, readonly RegExp[]>> = {
  windows: [/\.exe$/i],
  macos: [/\.zip$/i],
  linux: [/\.AppImage$/i, /\.deb$/i, /\.rpm$/i, /\.pacman$/i],
};
const RULES: UpdaterRules = {
  selectArtifact: (release) => installableFiles(release)[0],
  comparesSystemVersion: comparesSignedMinimum,
};
/** The first decides on the version. It is also used by a client that finds no file for its architecture. */
const ARCHITECTURES = ["x64", "universal", "ia32", "arm64"];

/** What the name of a file asks for: `latest.yml`, `beta-mac.yml`, `latest-arm64.yml`, `latest-linux-arm64.yml`. */
type Target = { channel: string; platform: Platform; architectures: readonly string[] };
type File = { release: Release; artifact: Artifact };

/**
 * electron-updater's generic provider: the files of all architectures of one version (electron-builder, UpdateInfo), or the
 * manifest that the publisher signed. There is no `stagingPercentage`: the client always sends its id, and the rollout is
 * decided here.
 */
export const electronFeed: UpdateFeed = {
  pattern: /^(?<name>[^/]+?)(?<mac>-mac)?(?<linux>-linux(?:-(?<architecture>[a-z0-9]+))?)?\.yml$/,
  resolve: (request, names) => {
    const target = parseTarget(request, names);
    if (!target) return null;
    const offered = withSignedManifests(request.snapshot, request.product, request.channel);
    return resolveTarget({ ...request, snapshot: offered }, target, request.snapshot);
  },
};

function parseTarget(
  { snapshot: { knownValues }, channel: ofUrl }: UpdateRequest,
  { name = "", mac, linux, architecture }: Partial<Record<string, string>>,
): Target | null {
  const platform = linux ? "linux" : mac ? "macos" : "windows";
  const known = [...knownValues.architecture];
  const written = name.toLowerCase(); // an app's channel may be "Beta"
  const channelOf = (text: string) => (text === "latest" ? ofUrl : knownValues.channel.has(text) ? text : undefined);
  const channel = channelOf(written);
  if (channel && linux) return { channel, platform, architectures: [linuxArchitecture(architecture, known)] };
  if (channel) return { channel, platform, architectures: [...new Set([...ARCHITECTURES, ...known.sort()])] };
  // An app may ask for its own architecture alone: autoUpdater.channel = "latest-arm64".
  const [, prefix = "", suffix = ""] = /^(.+)-([a-z0-9_]+)$/.exec(written) ?? [];
  const [ownChannel, own] = [channelOf(prefix), normalizeArchitecture(suffix)];
  return ownChannel && known.includes(own) ? { channel: ownChannel, platform, architectures: [own] } : null;
}

/** By `process.arch`, which is "arm" where electron-builder says armv7l. */
function linuxArchitecture(name: string | undefined, known: readonly string[]): string {
  return name === "arm" && !known.includes("arm") ? "armv7l" : normalizeArchitecture(name ?? "x64");
}

/** `catalog`: with the releases that no client is offered, as well. */
function resolveTarget(
  request: UpdateRequest,
  { channel, platform, architectures }: Target,
  catalog: Snapshot,
): DocumentContent | null {
  for (const architecture of architectures) {
    const selected = selectUpdate(request, { platform, architecture, channel }, RULES);
    if (!selected.release) continue;
    const { isClientSpecific } = selected;
    const { contentType } = electron;
    const known = architectures.length === 1 ? architecture : null;
    recordCheck(request, { platform, architecture: known, channel }, selected.release);
    if (selected.shouldKeepInstalled && request.current) {
      const installed = { product: request.product, platform, version: request.current };
      const text = findInstalledManifest(catalog, installed) ?? renderInstalledVersion(formatVersion(request.current));
      return toDocument({ text, contentType, isClientSpecific });
    }
    const { siblings, ...found } = siblingReleases(request, selected.release, { architectures, channel, selected });
    const text = signedText(selected.release, siblings) ?? render(selected.release, siblings, request.channel);
    return toDocument({ text, contentType, isClientSpecific: isClientSpecific || found.isClientSpecific });
  }
  return null;
}

/** The signed manifest of a release, or the widest one with all of its files: builds may have been signed apart. */
function signedText(release: Release, siblings: readonly Release[]): string | undefined {
  const filesOf = (one: Release) => manifestOf(one)?.files.map(({ sha512 }) => sha512) ?? [];
  const own = filesOf(release);
  if (own.length === 0) return undefined;
  const wider = siblings.filter((one) => own.every((sha512) => filesOf(one).includes(sha512)));
  const [widest] = [release, ...wider].sort((a, b) => filesOf(b).length - filesOf(a).length);
  return widest?.signedDocuments.electron?.text;
}

/** One file for each extension. */
function installableFiles(release: Release): Artifact[] {
  const complete = completeFiles(release);
  return EXTENSIONS[release.platform].flatMap(
    (extension) => complete.find(({ fileName }) => extension.test(fileName)) ?? [],
  );
}

/**
 * The .dmg that electron-builder lists after the .zip. electron-updater installs the .zip, and on arm64 looks only at files
 * named arm64 if there are any: a .dmg alone would hide a universal .zip.
 */
function diskImages(release: Release): Artifact[] {
  if (release.platform !== "macos" || installableFiles(release).length === 0) return [];
  return completeFiles(release).filter(({ fileName }) => /\.dmg$/i.test(fileName));
}

/** `channel`: in the feed's URL, which the files' are relative to. */
function render(release: Release, siblings: readonly Release[], channel: string): string {
  const filesBy = (select: (release: Release) => Artifact[]) =>
    [release, ...siblings].flatMap((one) => select(one).map((artifact): File => ({ release: one, artifact })));
  const files = [...filesBy(installableFiles), ...filesBy(diskImages)];
  const urlOf = ({ release, artifact }: File) =>
    `${release.channel === channel ? "" : `../${release.channel}/`}${storedFilePath(release, artifact)}`;
  const entries = files.map((file) => ({ ...file.artifact, url: urlOf(file) }));
  const minimum = highestKernelVersion(files.map((file) => file.release));
  return renderUpdateInfo(release, entries, entries[0]?.url ?? "", minimum);
}

/** The feed has one minimum for all files. */
function highestKernelVersion(releases: readonly Release[]): string | null {
  const minimums = releases.flatMap(({ platform, minimumSystemVersion }) =>
    minimumSystemVersion ? (kernelVersion(platform, minimumSystemVersion) ?? []) : [],
  );
  return minimums.sort(compareSystemVersions).at(-1) ?? null;
}

/** The releases of the version for other architectures. One with a lower rollout is left out for clients beyond it. */
function siblingReleases(
  { snapshot, product, clientId }: UpdateRequest,
  release: Release,
  target: { architectures: readonly string[]; channel: string; selected: SelectedUpdate },
): { siblings: Release[]; isClientSpecific: boolean } {
  const siblings: Release[] = [];
  let isClientSpecific = false;
  for (const architecture of target.architectures) {
    if (architecture === release.architecture) continue;
    const builds = versionReleases(snapshot, { platform: release.platform, product, architecture }, release.version);
    const sibling =
      builds.find(({ channel }) => channel === target.channel) ?? builds.find(({ channel }) => channel === "stable");
    if (!sibling || sibling.rollout === 0 || !target.selected.system.supports(sibling)) continue;
    const isLower = sibling.rollout < release.rollout;
    isClientSpecific ||= isLower;
    // The rollout bucket is that of `release`, so that it is the same for all architectures.
    const isIncluded = clientId !== undefined && isInRollout({ ...release, rollout: sibling.rollout }, clientId);
    if (!isLower || isIncluded) siblings.push(sibling);
  }
  return { siblings, isClientSpecific };
}
