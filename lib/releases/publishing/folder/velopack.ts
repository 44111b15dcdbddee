import { readFile } from "node:fs/promises";
import path from "node:path";
import { compare, parse as parseVersion } from "semver";
import { z } from "zod";
import { CommandError } from "../../../errors";
import { normalizeArchitecture, parseVelopackSystem } from "../../platforms";
import type { DraftFile } from "../draft";
import { invalidRelease } from "../invalid-release";
import { type FolderHints, type FoundFolder, type FoundRelease, type Listing, toFile } from "./found-releases";
import { type Nuspec, readNuspec } from "./nuspec";

export const FEED_FILE = /^releases\.(?<name>.+)\.json$/;
/** VelopackAssetFeed. */
export const Feed = z.object({
  Assets: z.array(
    z.object({
      PackageId: z.string(),
      Version: z.string().refine((version) => parseVersion(version) !== null, "Must be a SemVer 2.0.0 version"),
      Type: z.string(),
      FileName: z.string(),
      SHA1: z.string().nullish(),
      SHA256: z.string().nullish(),
      Size: z.number().nullish(),
      NotesMarkdown: z.string().nullish(),
    }),
  ),
});
type Asset = z.infer<typeof Feed>["Assets"][number];
/** assets.{channel}.json: what `vpk pack` has built. */
const BuiltAssets = z.array(z.object({ RelativeFileName: z.string(), Type: z.string() }));

/** The same on every platform, except the extension of the installer. */
const INSTALLER = /-Setup\.(?:exe|pkg|msi)$|\.AppImage$/;
const PORTABLE = /-Portable\.zip$/;

/** The output folder of `vpk pack`. Null if the folder is of another tool. @throws AppError */
export async function findVelopack(listing: Listing, hints: FolderHints): Promise<FoundFolder | null> {
  const feeds = [...listing.files].filter((name) => FEED_FILE.test(name)).sort();
  if (feeds.length === 0) return null;
  const found: FoundFolder = { tool: "Velopack", releases: [], missing: [], notes: [] };
  for (const feed of feeds) {
    const release = await findRelease(listing, feed, hints, found.missing);
    if (release) found.releases.push(release);
  }
  return found;
}

async function findRelease(
  listing: Listing,
  feed: string,
  hints: FolderHints,
  missing: string[],
): Promise<FoundRelease | null> {
  const { name: channel = "" } = FEED_FILE.exec(feed)?.groups ?? {};
  const parsed = Feed.safeParse(await readJson(listing, feed));
  if (!parsed.success) throw invalidRelease(`${feed} is not a feed of Velopack.`);
  const packages = parsed.data.Assets.filter(({ Type }) => ["Full", "Delta"].includes(Type));
  const versions = packages.map(({ Version }) => Version).sort(compare);
  const version = hints.version ?? versions.at(-1);
  const own = packages.filter(({ Version }) => Version === version);
  const full = own.find(({ Type }) => Type === "Full");
  if (version === undefined || !full) {
    missing.push(`the full package of version ${version ?? "?"}, in ${feed}`);
    return null;
  }
  const previous = versions.findLast((other) => compare(other, version) < 0);
  missing.push(...own.map(({ FileName }) => FileName).filter((name) => !listing.files.has(name)));
  const files = own.flatMap((asset) => packageFile(listing, feed, asset, previous));
  files.push(...(await builtFiles(listing, channel, full, missing)));
  if (!listing.files.has(full.FileName)) return null;
  const nuspec = await assertContents(listing, own);
  const target = targetOf(nuspec, channel, hints);
  return { ...target, version, fields: { notes: full.NotesMarkdown ?? undefined }, files };
}

function packageFile(
  listing: Listing,
  feed: string,
  { FileName, Type, SHA256, Size }: Asset,
  previous: string | undefined,
): DraftFile[] {
  const expected = { by: feed, sha256: SHA256?.toLowerCase(), sizeBytes: Size ?? undefined };
  const file = { ...toFile(listing, FileName), expected };
  if (Type === "Full") return [{ ...file, kinds: ["update"] }];
  return previous === undefined ? [] : [{ ...file, kinds: ["delta"], from: previous }];
}

/** The installer and the portable archive: those that vpk lists, else those with the names that it gives. */
async function builtFiles(listing: Listing, channel: string, full: Asset, missing: string[]): Promise<DraftFile[]> {
  const list = `assets.${channel}.json`;
  const isOwn = (name: string) => name.startsWith(full.PackageId) && !name.includes("/");
  const isForChannel = (name: string) => name.includes(`-${channel}-`) || /\.AppImage$/.test(name);
  const names = listing.files.has(list)
    ? BuiltAssets.parse(await readJson(listing, list)).map(({ RelativeFileName }) => RelativeFileName)
    : [...listing.files].filter((name) => isOwn(name) && isForChannel(name));
  const built = names.filter((name) => INSTALLER.test(name) || PORTABLE.test(name)).sort();
  missing.push(...built.filter((name) => !listing.files.has(name)));
  const installer = built.find((name) => INSTALLER.test(name));
  return built.map((name) => ({ ...toFile(listing, name), kinds: [name === installer ? "installer" : "other"] }));
}

/** Every package has to be what the feed says. Returns the nuspec of the full one. */
async function assertContents(listing: Listing, assets: readonly Asset[]): Promise<Nuspec> {
  let full: Nuspec | undefined;
  for (const { FileName, Version, PackageId, Type } of assets.filter((asset) => listing.files.has(asset.FileName))) {
    const nuspec = await readNuspec(toFile(listing, FileName).file);
    if (nuspec.version !== Version || nuspec.id !== PackageId) {
      const said = `${nuspec.id} ${nuspec.version}, not ${PackageId} ${Version}`;
      throw invalidRelease(`${FileName} does not match the feed: ${said}.`);
    }
    if (Type === "Full") full = nuspec;
  }
  if (!full) throw new CommandError("folder_incomplete", "The full package is missing.");
  return full;
}

/** Velopack's channel is a system, which an architecture and a channel of the catalog may follow: `linux-arm64-beta`. */
function targetOf(nuspec: Nuspec, channelName: string, hints: FolderHints) {
  const [, ridSystem, ridArchitecture] = /^(win|osx|linux)[\d.]*(?:-(\w+))?$/.exec(nuspec.rid ?? "") ?? [];
  const words = channelName.toLowerCase().split("-");
  const system = nuspec.os ?? ridSystem ?? words[0] ?? "";
  const platform = parseVelopackSystem(system);
  if (!platform) throw invalidRelease(`The package names an unknown system: "${system}".`);
  const named = hints.architecture ?? nuspec.machineArchitecture ?? ridArchitecture ?? "x64";
  const architecture = normalizeArchitecture(named);
  if (parseVelopackSystem(words[0] ?? "")) words.shift();
  if (words[0] !== undefined && normalizeArchitecture(words[0]) === architecture) words.shift();
  return { platform, architecture, channel: words.join("-") || "stable" };
}

async function readJson({ folder }: Listing, name: string): Promise<unknown> {
  const text = await readFile(path.join(folder, name), "utf8");
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw invalidRelease(`${name} is not JSON.`);
  }
}
