import { readFile } from "node:fs/promises";
import path from "node:path";
import { compareBuild, parse as parseVersion, SemVer } from "semver";
import { architectureIn } from "../../platforms";
import { formatVersion } from "../../schema";
import { parseSquirrelVersion, squirrelVersion } from "../../updates/nupkg";
import type { DraftFile } from "../draft";
import { invalidRelease } from "../invalid-release";
import { channelOf, type FolderHints, type FoundFolder, type Listing, toFile } from "./found-releases";
import { readNuspec } from "./nuspec";
import { programArchitecture } from "./program-architecture";

/** A line of RELEASES: SHA-1, name and size, then a comment (Squirrel.Windows, ReleaseEntry.ParseReleaseEntry). */
const LINE = /^(?<sha1>[0-9a-fA-F]{40})\s+(?<name>\S+)\s+(?<size>\d+)\s*(?:#(?<comment>.*))?$/;
/** Older versions of electron-builder append the architecture, and some tools write the prerelease with dots. */
const PACKAGE =
  /-(?<text>\d+(?:\.\d+){1,3}(?:-(?!(?:ia32|x64|arm64)-)[A-Za-z][A-Za-z0-9.]*)?)(?:-(?<architecture>ia32|x64|arm64))?-(?<type>full|delta)\.nupkg$/;
type Package = {
  name: string;
  sha1: string;
  /** The name that Squirrel.Windows reads the version from. */
  fileName: string;
  sizeBytes: number;
  version: string;
  architecture: string | undefined;
  isDelta: boolean;
  comment: string;
};

/** The output folder of Squirrel.Windows. Null if the folder is of another tool. @throws AppError */
export async function findSquirrel(listing: Listing, hints: FolderHints): Promise<FoundFolder | null> {
  if (!listing.files.has("RELEASES")) return null;
  const { packages, unreadable } = parseReleases(await readFile(path.join(listing.folder, "RELEASES"), "utf8"));
  const versions = packages.filter(({ isDelta }) => !isDelta).map(({ version }) => version);
  const ordered = [...new Set(versions)].sort(compareBuild);
  const wanted = hints.version === undefined ? undefined : toSemVer(hints.version);
  assertReadable(unreadable, wanted);
  const version = wanted ?? ordered.at(-1);
  const own = packages.filter((one) => one.version === version);
  const full = fullPackage(own);
  if (version === undefined || !full)
    throw invalidRelease(`RELEASES has no full package of ${version ?? "any version"}.`);
  const missing = own.filter(({ name }) => !listing.files.has(name)).map(({ name }) => name);
  const previous = ordered.findLast((other) => compareBuild(other, version) < 0);
  const setups = setupsOf(listing, version);
  if (!setups.some(({ kinds }) => kinds.includes("installer"))) missing.push("Setup.exe");
  const files = [...setups];
  for (const one of own.filter(({ name }) => listing.files.has(name))) {
    files.push(...(await packageFile(listing, one, previous)));
  }
  const notes = listing.files.has(full.name) ? await notesOf(listing, full) : undefined;
  const named = hints.architecture ?? full.architecture ?? architectureIn(path.basename(listing.folder));
  const architecture = named ?? (await programArchitecture(toFile(listing, full.name).file));
  if (architecture === undefined && listing.files.has(full.name)) {
    throw invalidRelease(`The architecture of ${full.name} is unknown: set it with --arch.`);
  }
  const release = {
    platform: "windows",
    architecture: architecture ?? "",
    version,
    channel: channelOf(version),
    fields: { notes, rollout: rolloutOf(full) },
    files,
  } as const;
  return { tool: "Squirrel.Windows", releases: [release], missing, notes: [] };
}

/** The packages that the lines of RELEASES name, and the lines that name none. */
export function parseReleases(text: string): { packages: Package[]; unreadable: string[] } {
  const packages = new Map<string, Package>();
  const unreadable: string[] = [];
  for (const line of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    const one = parseLine(line.trim());
    if (one) packages.set(one.name, one);
    else if (/^\s*[^#\s]/.test(line)) unreadable.push(line.trim());
  }
  return { packages: [...packages.values()], unreadable };
}

function parseLine(line: string): Package | null {
  const { sha1 = "", name = "", size, comment = "" } = LINE.exec(line)?.groups ?? {};
  const match = PACKAGE.exec(name);
  const { text = "", architecture, type } = match?.groups ?? {};
  const version = parseSquirrelVersion(text);
  if (!match || !version) return null;
  const fileName = `${name.slice(0, match.index)}-${squirrelVersion(version)}-${type}.nupkg`;
  const own = { sizeBytes: Number(size), version: formatVersion(version), architecture, isDelta: type === "delta" };
  return { name, sha1: sha1.toLowerCase(), fileName, comment, ...own };
}

/** Squirrel.Windows itself reads no file with such a line. An older one is no obstacle if the version is named. */
function assertReadable(lines: readonly string[], wanted: string | undefined): void {
  const text = wanted === undefined ? "" : squirrelVersion(new SemVer(wanted));
  const line = lines.find((one) => one.includes(text));
  if (line === undefined) return;
  throw invalidRelease(
    `RELEASES has a line that is not a SHA-1, the name of a package and its size: "${line}". Correct it, or name another version with --version.`,
  );
}

function toSemVer(text: string): string {
  const version = parseSquirrelVersion(text.replace(/^v/i, "")) ?? parseVersion(text);
  if (version) return formatVersion(version);
  throw invalidRelease(`${text} is not a version that Squirrel.Windows has.`);
}

/** @throws AppError if two packages have the version, as those of two architectures may */
function fullPackage(packages: readonly Package[]): Package | undefined {
  const [full, other] = packages.filter(({ isDelta }) => !isDelta);
  if (!full || !other) return full;
  throw invalidRelease(
    `RELEASES has two full packages of ${full.version}, ${full.name} and ${other.name}: publish the folder of each on its own.`,
  );
}

/** Squirrel.Windows 1.4.0 and later: `# 10%` after the size. @throws AppError */
function rolloutOf({ name, comment }: Package): number | undefined {
  if (!comment.includes("%")) return undefined;
  const [, percent] = /^\s*(\d{1,3})\s*%\s*$/.exec(comment) ?? [];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent);
  throw invalidRelease(
    `RELEASES stages ${name} with "#${comment}", which is not a percentage such as # 10%: correct it, or remove it and set --rollout.`,
  );
}

/** Setup.exe, or the one that electron-builder names after the version: `Acme Setup 1.4.0.exe`. */
function setupsOf(listing: Listing, version: string): DraftFile[] {
  const setups = [...listing.files]
    .filter((name) => /setup[^/]*\.(exe|msi)$/i.test(name) && !name.includes("/"))
    .sort();
  const versionIn = (name: string) => /\d+\.\d+[0-9A-Za-z.+-]*(?=\.\w+$)/.exec(name)?.[0];
  const named = [version, squirrelVersion(new SemVer(version))];
  const isOwn = (name: string) => named.some((text) => hasVersion(versionIn(name) ?? "", text));
  const own = setups.filter(isOwn);
  const chosen = own.length > 0 ? own : setups.filter((name) => versionIn(name) === undefined);
  const installer = chosen.find((name) => /\.exe$/i.test(name));
  return chosen.map((name) => ({ ...toFile(listing, name), kinds: [name === installer ? "installer" : "other"] }));
}

/** Whether the version in a name is this one; an architecture may follow it. */
function hasVersion(text: string, version: string): boolean {
  return (
    text === version || (text.startsWith(`${version}-`) && architectureIn(text.slice(version.length)) !== undefined)
  );
}

async function packageFile(
  listing: Listing,
  { name, fileName, sizeBytes, version, isDelta }: Package,
  previous: string | undefined,
): Promise<DraftFile[]> {
  const file = { ...toFile(listing, name), artifact: { fileName }, expected: { by: "RELEASES", sizeBytes } };
  const nuspec = await readNuspec(file.file);
  if (toSemVer(nuspec.version) !== version) {
    throw invalidRelease(`${name} does not match its name: it contains version ${nuspec.version}.`);
  }
  if (!isDelta) return [{ ...file, kinds: ["update"] }];
  return previous === undefined ? [] : [{ ...file, kinds: ["delta"], from: previous }];
}

async function notesOf(listing: Listing, { name }: Package): Promise<string | undefined> {
  return (await readNuspec(toFile(listing, name).file)).releaseNotes;
}
