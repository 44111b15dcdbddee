import { load } from "js-yaml";
import { compareBuild, type SemVer } from "semver";
import { isAppError } from "../../errors";
import type { DocumentContent } from "../../platform/response-content";
import { unescapeXml } from "../../platform/unescape-xml";
import { indexReleases, type Snapshot } from "../catalog/snapshot";
import { Platform, VELOPACK_SYSTEMS } from "../platforms";
import { completeFiles, removeStoredFiles, type ServedFile, servedFiles } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";
import { LATEST, latestName } from "../updates/latest-files";
import { findFeed, findFile } from "../updates/resolve-update";
import { TAURI_TARGETS, tauriTargetFile } from "../updates/tauri";
import type { UpdateRequest } from "../updates/update-feed";

/** A file of a release, at any path. */
export type MirrorFile = { release: Release; artifact: ServedFile };
/** `links`: the files that it names, which are there before it. */
export type MirrorFeed = { text: string; contentType: string; links: readonly string[] };
export type MirrorContents = { files: Map<string, MirrorFile>; feeds: Map<string, MirrorFeed> };

/** For each of the last versions there is what a client of it is to get, as some updaters have their version in the path. */
const MAX_INSTALLED_VERSIONS = 100;

/** What every client may have: a rollout under way is of the service alone, which knows the clients. A paused one is withdrawn. */
function withoutRollouts({ root, releases }: Snapshot): Snapshot {
  const settled = releases.filter(({ rollout, yanked }) => rollout === 100 || rollout === 0 || yanked);
  return indexReleases(
    root,
    settled.map((release) => (release.rollout === 0 ? { ...release, yanked: true } : release)),
  );
}

/** By path, the newest version first. */
export function releaseFilesOf(snapshot: Snapshot): Map<string, MirrorFile> {
  const files = new Map<string, MirrorFile>();
  const offered = withoutRollouts(snapshot);
  const add = (path: string, file: MirrorFile) => !files.has(path) && files.set(path, file);
  for (const release of servableReleases(offered).sort((a, b) => compareBuild(b.version, a.version))) {
    for (const artifact of servedFiles(release)) {
      const file = { release, artifact };
      add(pathOf(release, artifact, release.channel), file);
      if (!artifact.fileName.endsWith(".blockmap")) continue;
      // electron-updater looks for those of the installed version beside the new file, which may be on another channel.
      for (const channel of channelsOf(offered, release.product)) add(pathOf(release, artifact, channel), file);
      if (release.signedDocuments.electron) add(`${release.product}/${release.channel}/${artifact.fileName}`, file);
    }
  }
  return files;
}

/** Packages lie below the channel, where Velopack and Squirrel.Windows look for them; others are below their version. */
function pathOf(
  { product, version, platform, architecture }: Release,
  { fileName }: ServedFile,
  channel: string,
): string {
  if (/\.nupkg(\.sigstore\.json)?$/.test(fileName)) return `${product}/${channel}/${fileName}`;
  return `${product}/${channel}/${formatVersion(version)}/${platform}-${architecture}/${fileName}`;
}

/** The releases that a catalog offers to anyone. */
export const servableReleases = ({ releasesByVersion }: Snapshot) => [...releasesByVersion.values()].flat();

const channelsOf = ({ releases }: Snapshot, product: string) =>
  new Set(["stable", ...releases.filter((release) => release.product === product).map(({ channel }) => channel)]);

/**
 * The catalog as far as its files are on the mirror. A version is left out until all of its files are there; one that was offered
 * before stays, with the files that are there.
 */
export function availableReleases(
  snapshot: Snapshot,
  files: ReadonlyMap<string, MirrorFile>,
  isPresent: (path: string, file: MirrorFile) => boolean,
  wasOffered: (release: Release) => boolean,
): Snapshot {
  const missing = new Map<string, Set<ServedFile["sha256"]>>();
  const versionKey = ({ product, channel, version }: Release) => `${product} ${channel} ${formatVersion(version)}`;
  for (const [path, file] of files) {
    if (isPresent(path, file)) continue;
    const key = versionKey(file.release);
    missing.set(key, (missing.get(key) ?? new Set()).add(file.artifact.sha256));
  }
  const offered = withoutRollouts(snapshot);
  const releases = offered.releases.flatMap((release): Release | [] => {
    const own = missing.get(versionKey(release));
    if (!own || release.yanked) return release;
    if (!wasOffered(release)) return [];
    const { others, deltas, ...kinds } = structuredClone(release.artifacts);
    const copy = { ...release, artifacts: { ...kinds, others: [...others], deltas: [...deltas] } };
    removeStoredFiles(copy, (file) => own.has((file as Artifact).sha256));
    return copy;
  });
  return indexReleases(offered.root, releases);
}

/** The feeds of a catalog, with the files that they name besides those of `releaseFilesOf`. Not those that name a file that is not offered. */
export function feedsOf(available: Snapshot, installed: Snapshot, baseUrl: string): MirrorContents {
  const contents: MirrorContents = { files: new Map(), feeds: new Map() };
  for (const product of new Set(servableReleases(available).map((release) => release.product))) {
    for (const channel of channelsOf(installed, product))
      addChannel(contents, { available, installed, baseUrl, product, channel });
  }
  return contents;
}

type Target = { available: Snapshot; installed: Snapshot; baseUrl: string; product: string; channel: string };

function addChannel(contents: MirrorContents, target: Target): void {
  const request = requestOf(target);
  const folder = `${target.product}/${target.channel}`;
  const add = (name: string, render: () => Pick<DocumentContent, "text" | "contentType"> | null) => {
    const feed = ifOffered(render);
    if (!feed || feed.text === null) return false;
    const links = new Map(
      linksIn(feed.text, `${folder}/${name}`, target.baseUrl).map((path) => [path, fileAt(target, path)]),
    );
    if ([...links.values()].includes(null)) return false; // another product's, or withheld
    for (const [path, file] of links) if (file && file !== "feed") contents.files.set(path, file);
    for (const [path, file] of blockMapsOf(target, [...links.keys()])) contents.files.set(path, file);
    contents.feeds.set(`${folder}/${name}`, {
      text: feed.text,
      contentType: feed.contentType,
      links: [...links.keys()],
    });
    return true;
  };
  const feed = (name: string) => add(name, () => findFeed(name.split("/"), request));
  for (const name of feedNames(target)) feed(name);
  const versions = installedVersions(target);
  const has = (name: string) => contents.feeds.has(`${folder}/${name}`);
  for (const version of versions) {
    const text = formatVersion(version);
    if (has("latest.json")) {
      for (const { folder: name, ...one } of TAURI_TARGETS)
        add(`${name}/${text}`, () => tauriTargetFile(request, { ...one, version }));
    }
    if (has("RELEASES.json")) for (const arch of ["x64", "arm64"]) feed(`darwin-${arch}/${text}`);
    if (has(`${target.product}.appinstaller`)) for (const arch of ["x64", "arm64"]) feed(`win32-${arch}/msix/${text}`);
  }
  addLatestFiles(contents, target);
}

/** A request as it arrives at a static server: of a client of which nothing is known. */
function requestOf({ available: snapshot, baseUrl, product, channel }: Target): UpdateRequest {
  const deps = { config: { baseUrl }, adoption: { recordUpdateCheck: () => {} } };
  const client = { clientId: undefined, current: undefined, query: {}, userAgent: null, network: () => "" };
  return { deps, snapshot, product, channel, ...client };
}

/** Every name that some updater requests without a version in it. winget's files need a query. */
function feedNames({ available, product }: Target): string[] {
  const releases = servableReleases(available).filter((release) => release.product === product);
  const architecturesOf = (platform: Platform) => [
    ...new Set(releases.flatMap((release) => (release.platform === platform ? release.architecture : []))),
  ];
  const channels = [...channelsOf(available, product)];
  const linux = architecturesOf("linux").map((arch) => `-linux-${arch.replace("armv7l", "arm")}`);
  const windows = architecturesOf("windows").map((arch) => `-${arch}`);
  const mac = architecturesOf("macos").map((arch) => `-${arch}-mac`);
  const suffixes = ["", "-mac", "-linux", linux, windows, mac].flat();
  const electron = ["latest", ...channels].flatMap((name) => suffixes.map((suffix) => `${name}${suffix}.yml`));
  const velopack = Platform.options.flatMap((platform) =>
    ["", ...architecturesOf(platform)].flatMap((arch) =>
      ["", ...channels].map((name) => [VELOPACK_SYSTEMS[platform], arch, name].filter((word) => word !== "").join("-")),
    ),
  );
  const base = ["appcast.xml", `${product}.appinstaller`, "RELEASES", "RELEASES.json"];
  const architectures = [...new Set(releases.map(({ architecture }) => architecture))];
  const ofArchitectures = architectures.flatMap((arch) => base.map((name) => `${arch}/${name}`));
  const ofVelopack = velopack.concat(channels).map((name) => `releases.${name}.json`);
  return [electron, ofVelopack, "latest.json", base, ofArchitectures].flat();
}

function installedVersions({ installed, product }: Target): SemVer[] {
  const versions = new Map<string, SemVer>();
  for (const release of installed.releases)
    if (release.product === product) versions.set(formatVersion(release.version), release.version);
  return [...versions.values()].sort((a, b) => compareBuild(b, a)).slice(0, MAX_INSTALLED_VERSIONS);
}

function addLatestFiles(contents: MirrorContents, target: Target): void {
  const { available, product, channel } = target;
  for (const release of servableReleases(available).filter((one) => one.product === product)) {
    for (const artifact of completeFiles(release)) {
      const name = latestName(release, artifact);
      const path = `${product}/${channel}/${LATEST}/${name}`;
      const file = name !== null && !contents.files.has(path) && fileAt(target, path);
      if (file && file !== "feed") contents.files.set(path, file);
    }
  }
}

/** What differential downloads need beside the files that a signed manifest names. */
function blockMapsOf(target: Target, links: readonly string[]): [string, MirrorFile][] {
  return links.flatMap((link): [string, MirrorFile][] => {
    const path = `${link}.blockmap`;
    const file = fileAt(target, path);
    return file && file !== "feed" ? [[path, file]] : [];
  });
}

/** What a path names. null: nothing that is offered. */
function fileAt({ available, baseUrl }: Target, path: string): MirrorFile | "feed" | null {
  const [product = "", channel = "", ...file] = path.split("/");
  const found = ifOffered(() => findFile(available, { product, channel, file }));
  if (found) return { release: found.release, artifact: found.artifact };
  const request = requestOf({ available, installed: available, baseUrl, product, channel });
  return ifOffered(() => findFeed(file, request)) ? "feed" : null;
}

function ifOffered<T>(find: () => T): T | null {
  try {
    return find();
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

/** The paths on the mirror that a feed at `path` names. */
function linksIn(text: string, path: string, baseUrl: string): string[] {
  const folder = new URL(path.split("/").map(encodeURIComponent).join("/"), `${baseUrl}/api/updates/`);
  const urls = namesIn(text, path.split("/").at(-1) ?? "").map((name) => new URL(name, folder));
  const start = `${new URL(baseUrl).origin}/api/updates/`;
  const own = urls.filter(({ href }) => href.startsWith(start));
  return [...new Set(own.map(({ href }) => href.slice(start.length).split("/").map(decodeURIComponent).join("/")))];
}

/** File names and URLs in a feed, by its own name. */
function namesIn(text: string, name: string): string[] {
  if (name === "RELEASES")
    return [...text.matchAll(/^\S{40} (\S+) \d+/gm)].map(([, file = ""]) => encodeURIComponent(file));
  if (/^releases\..+\.json$/.test(name)) {
    const { Assets } = JSON.parse(text) as { Assets: { FileName: string }[] };
    return Assets.map(({ FileName }) => encodeURIComponent(FileName));
  }
  if (name.endsWith(".yml")) return ((load(text) as { files?: { url: string }[] }).files ?? []).map(({ url }) => url);
  const names = text.startsWith("{")
    ? urlsIn(JSON.parse(text))
    : [...text.matchAll(/\s(?:url|Uri)="([^"]+)"/g)].map(([, url = ""]) => unescapeXml(url));
  return names.filter((url) => URL.canParse(url));
}

/** The values of all members `url`. */
function urlsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => (name === "url" ? [String(one)] : urlsIn(one)));
}
