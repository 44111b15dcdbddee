import { readFile } from "node:fs/promises";
import path from "node:path";
import { compareBuild, parse as parseVersion } from "semver";
import { PublishingError } from "../manifest/publishing-error";
import type { DraftFile } from "../publish/draft";
import { architectureIn } from "./architecture";
import { type FolderHints, type FoundFolder, type Listing, toFile } from "./found-releases";
import { readNuspec } from "./nuspec";
import { programArchitecture } from "./program-architecture";

/** A line of RELEASES: SHA-1, name and size (Squirrel.Windows, ReleaseEntry.ParseReleaseEntry). */
const LINE = /^(?<sha1>[0-9a-fA-F]{40})\s+(?<name>\S+)\s+(?<size>\d+)/;
const PACKAGE = /-(?<version>\d+(?:\.\d+){1,3}(?:-[A-Za-z0-9]+)?)-(?<type>full|delta)\.nupkg$/;

type Package = { name: string; sizeBytes: number; version: string; isDelta: boolean };

/** The output folder of Squirrel.Windows. Null if the folder is of another tool. @throws PublishingError */
export async function findSquirrel(listing: Listing, hints: FolderHints): Promise<FoundFolder | null> {
  if (!listing.files.has("RELEASES")) return null;
  const packages = parseReleases(await readFile(path.join(listing.folder, "RELEASES"), "utf8"));
  const versions = packages.filter(({ isDelta }) => !isDelta).map(({ version }) => version);
  const ordered = [...new Set(versions)].sort(compareBuild);
  const version = hints.version ?? ordered.at(-1);
  const own = packages.filter((one) => one.version === version);
  const full = own.find(({ isDelta }) => !isDelta);
  const missing = own.filter(({ name }) => !listing.files.has(name)).map(({ name }) => name);
  if (version === undefined || !full)
    throw new PublishingError(`RELEASES has no full package of ${version ?? "any version"}.`);
  const previous = ordered.findLast((other) => compareBuild(other, version) < 0);
  const setups = [...listing.files].filter((name) => /setup\.(exe|msi)$/i.test(name) && !name.includes("/")).sort();
  if (!setups.some((name) => name.endsWith(".exe"))) missing.push("Setup.exe");
  const files: DraftFile[] = setups.map((name) => {
    return { ...toFile(listing, name), kinds: [name.endsWith(".exe") ? "installer" : "other"] };
  });
  for (const one of own.filter(({ name }) => listing.files.has(name))) {
    files.push(...(await packageFile(listing, one, previous)));
  }
  const fields = { notes: listing.files.has(full.name) ? await notesOf(listing, full) : undefined };
  const named = hints.architecture ?? architectureIn(path.basename(listing.folder));
  const architecture = named ?? (await programArchitecture(toFile(listing, full.name).file));
  if (architecture === undefined && listing.files.has(full.name)) {
    throw new PublishingError(`The architecture of ${full.name} is unknown: set it with --arch.`);
  }
  const channel = /-([a-z]+)/i.exec(version)?.[1]?.toLowerCase() ?? "stable";
  const release = { platform: "windows", architecture: architecture ?? "", version, channel, fields, files } as const;
  return { tool: "Squirrel.Windows", releases: [{ ...release, files }], missing, notes: [] };
}

function parseReleases(text: string): Package[] {
  return text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .flatMap((line) => {
      const { name, size } = LINE.exec(line)?.groups ?? {};
      const { version, type } = PACKAGE.exec(name ?? "")?.groups ?? {};
      if (name === undefined || version === undefined) return [];
      return [{ name, sizeBytes: Number(size), version: toSemVer(version), isDelta: type === "delta" }];
    });
}

/** A fourth number becomes build metadata, and two numbers get a third one. */
function toSemVer(version: string): string {
  const [, major, minor, patch = "0", build, prerelease = ""] =
    /^(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?(-.+)?$/.exec(version) ?? [];
  const text = `${major}.${minor}.${patch}${prerelease}${build === undefined ? "" : `+${build}`}`;
  if (!parseVersion(text)) throw new PublishingError(`RELEASES names the version ${version}, which is not valid.`);
  return text;
}

async function packageFile(
  listing: Listing,
  { name, sizeBytes, version, isDelta }: Package,
  previous: string | undefined,
): Promise<DraftFile[]> {
  const file = { ...toFile(listing, name), expected: { by: "RELEASES", sizeBytes } };
  const nuspec = await readNuspec(file.file);
  if (toSemVer(nuspec.version) !== version) {
    throw new PublishingError(`${name} does not match its name: it contains version ${nuspec.version}.`);
  }
  if (!isDelta) return [{ ...file, kinds: ["update"] }];
  return previous === undefined ? [] : [{ ...file, kinds: ["delta"], from: previous }];
}

async function notesOf(listing: Listing, { name }: Package): Promise<string | undefined> {
  return (await readNuspec(toFile(listing, name).file)).releaseNotes;
}
