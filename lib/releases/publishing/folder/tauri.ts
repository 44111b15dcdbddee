import { readFile } from "node:fs/promises";
import path from "node:path";
import { normalizeArchitecture, type Platform } from "../../platforms";
import type { DraftFile } from "../draft";
import { invalidRelease } from "../invalid-release";
import {
  assignKinds,
  channelOf,
  type FolderHints,
  type FoundFolder,
  type FoundRelease,
  type Listing,
  toFile,
} from "./found-releases";
import { programArchitecture } from "./program-architecture";

/** What Tauri's bundler writes into each folder (tauri-bundler, bundle/*): app, version and architecture. */
const BUNDLES: readonly { platform: Platform; pattern: RegExp; isForUpdater: boolean }[] = [
  { platform: "windows", pattern: /^nsis\/.+_(?<version>\d[^_]*)_(?<arch>[^_]+)-setup\.exe$/, isForUpdater: true },
  { platform: "windows", pattern: /^msi\/.+_(?<version>\d[^_]*)_(?<arch>[^_]+)_[\w-]+\.msi$/, isForUpdater: true },
  { platform: "macos", pattern: /^macos\/.+\.app\.tar\.gz$/, isForUpdater: true },
  { platform: "macos", pattern: /^dmg\/.+_(?<version>\d[^_]*)_(?<arch>[^_]+)\.dmg$/, isForUpdater: false },
  { platform: "linux", pattern: /^appimage\/.+_(?<version>\d[^_]*)_(?<arch>[^_]+)\.AppImage$/, isForUpdater: true },
  { platform: "linux", pattern: /^deb\/.+_(?<version>\d[^_]*)_(?<arch>[^_]+)\.deb$/, isForUpdater: false },
  { platform: "linux", pattern: /^rpm\/.+-(?<version>\d.*)-\d+\.(?<arch>[^.]+)\.rpm$/, isForUpdater: false },
];
const MAX_PARENTS = 5;

type Bundle = { name: string; platform: Platform; version?: string; architecture?: string; isForUpdater: boolean };

/** Tauri's folder `bundle`. Null if the folder is of another tool. @throws AppError if the version is unknown */
export async function findTauri(listing: Listing, hints: FolderHints): Promise<FoundFolder | null> {
  const own = [...listing.files].some((name) => name.startsWith("bundle/")) ? subfolder(listing, "bundle") : listing;
  const bundles = [...own.files].sort().flatMap((name) => parseBundle(name) ?? []);
  if (bundles.length === 0) return null;
  const found: FoundFolder = { tool: "Tauri", releases: [], missing: [], notes: [] };
  const version = hints.version ?? (await readVersion(own.folder)) ?? onlyVersion(bundles);
  const current = bundles.filter((bundle) => isOfVersion(bundle, version));
  for (const { name } of bundles.filter((bundle) => !current.includes(bundle))) {
    found.notes.push(`${name} is not published: it is not of version ${version}.`);
  }
  found.missing = missingFiles(own, current);
  const nameless = await architectureOfApp(own, current, hints);
  for (const bundle of current) {
    const signature = `${bundle.name}.sig`;
    const isSigned = own.files.has(signature);
    const minisign = isSigned ? await readFile(toFile(own, signature).file, "utf8") : undefined;
    const file = { ...toFile(own, bundle.name), artifact: { minisign } };
    addFile(found.releases, { ...bundle, architecture: bundle.architecture ?? nameless }, version, file);
  }
  for (const release of found.releases) release.files = assignKinds(release.platform, release.files);
  if (![...own.files].some((name) => name.endsWith(".sig"))) {
    found.notes.push("Nothing is signed, so apps cannot update: set createUpdaterArtifacts in tauri.conf.json.");
  }
  return found;
}

function subfolder({ folder, files }: Listing, name: string): Listing {
  const inside = [...files].filter((file) => file.startsWith(`${name}/`)).map((file) => file.slice(name.length + 1));
  return { folder: path.join(folder, name), files: new Set(inside) };
}

function parseBundle(name: string): Bundle | null {
  for (const { platform, pattern, isForUpdater } of BUNDLES) {
    const match = pattern.exec(name);
    if (!match) continue;
    const { version, arch } = match.groups ?? {};
    const architecture = arch === undefined ? {} : { architecture: normalizeArchitecture(arch) };
    return { name, platform, isForUpdater, ...architecture, ...(version !== undefined && { version }) };
  }
  return null;
}

/** A signature needs its file. As soon as one file for updaters is signed, all of them have to be. */
function missingFiles({ files }: Listing, bundles: readonly Bundle[]): string[] {
  const signatures = [...files].filter((name) => name.endsWith(".sig"));
  const signed = signatures.map((name) => name.slice(0, -".sig".length)).filter((name) => parseBundle(name));
  const unsigned = bundles.filter(({ isForUpdater, name }) => isForUpdater && !signed.includes(name));
  const isExpected = ({ name }: Bundle) => signatures.length > 0 || name.endsWith(".app.tar.gz");
  return [
    ...signed.filter((name) => !files.has(name)),
    ...unsigned.filter(isExpected).map(({ name }) => `${name}.sig`),
  ];
}

/** The version in tauri.conf.json, or in the package.json that it names. */
async function readVersion(folder: string): Promise<string | undefined> {
  for (let [parent, parents] = [folder, 0]; parents < MAX_PARENTS; parent = path.dirname(parent), parents += 1) {
    const file = path.join(parent, "tauri.conf.json");
    const text = await readFile(file, "utf8").catch(() => null);
    if (text === null) continue;
    const { version } = JSON.parse(text) as { version?: string };
    if (!version?.endsWith(".json")) return version;
    const named = JSON.parse(await readFile(path.join(parent, version), "utf8")) as { version?: string };
    return named.version;
  }
  return undefined;
}

/** @throws AppError if the names have several versions, or none */
function onlyVersion(bundles: readonly Bundle[]): string {
  const versions = [...new Set(bundles.flatMap(({ version, name }) => (name.endsWith(".msi") ? [] : (version ?? []))))];
  const [version] = versions.length > 0 ? versions : bundles.flatMap((bundle) => bundle.version ?? []);
  if (version !== undefined && versions.length <= 1) return version;
  const found = versions.length > 1 ? `has the versions ${versions.join(", ")}` : "does not contain its version";
  throw invalidRelease(`The folder ${found}: set one with --version.`);
}

/** An .msi has the numbers alone, and an .rpm writes a tilde before a prerelease. */
function isOfVersion({ name, version: bundleVersion }: Bundle, version: string): boolean {
  if (bundleVersion === undefined) return true;
  const own = bundleVersion.replace("~", "-");
  return own === version || (name.endsWith(".msi") && version.split(/[-+]/)[0] === own);
}

/** The architecture of an .app.tar.gz, whose name has none. @throws AppError if another job's file was overwritten */
async function architectureOfApp(
  listing: Listing,
  bundles: readonly Bundle[],
  hints: FolderHints,
): Promise<string | undefined> {
  const app = bundles.find(({ platform, architecture }) => platform === "macos" && architecture === undefined);
  const images = bundles.filter(({ platform, architecture }) => platform === "macos" && architecture !== undefined);
  const [first, second] = [...new Set(images.map(({ architecture }) => architecture))];
  if (app && second !== undefined) {
    throw invalidRelease(
      `${app.name} lies beside disk images for ${first} and ${second}, so another job's file of this name was overwritten: publish the folder of each job on its own.`,
    );
  }
  const [, target] = /(?:^|[\\/])(x86_64|aarch64|universal)-apple-darwin[\\/]/.exec(listing.folder) ?? [];
  const program = app && (await programArchitecture(toFile(listing, app.name).file));
  const named = hints.architecture ?? first ?? target ?? program;
  return named && normalizeArchitecture(named);
}

function addFile(
  releases: FoundRelease[],
  { platform, architecture, name }: Bundle & { architecture: string | undefined },
  version: string,
  file: Omit<DraftFile, "kinds">,
): void {
  if (architecture === undefined) throw invalidRelease(`The architecture of ${name} is unknown: set it with --arch.`);
  const known = releases.find((release) => release.platform === platform && release.architecture === architecture);
  const release = known ?? { platform, architecture, version, channel: channelOf(version), files: [] };
  release.files.push({ ...file, kinds: [] });
  if (!known) releases.push(release);
}
