import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { AppError } from "../../../errors";
import { architectureIn, normalizeArchitecture, type Platform } from "../../platforms";
import type { DraftFile } from "../draft";
import { invalidRelease } from "../invalid-release";
import {
  assignKinds,
  type FolderHints,
  type FoundFolder,
  type FoundRelease,
  type Listing,
  toFile,
} from "./found-releases";
import { programArchitecture } from "./program-architecture";

/** What electron-builder writes for electron-updater (builder-util-runtime, UpdateInfo). */
export const UpdateInfo = z.object({
  version: z.string(),
  files: z.array(z.object({ url: z.string(), sha512: z.string(), size: z.number().optional() })).min(1),
  releaseNotes: z.union([z.string(), z.array(z.object({ version: z.string(), note: z.string().nullish() }))]).nullish(),
  // electron-updater also reads it as text.
  stagingPercentage: z.preprocess(
    (given) => (/^\d{1,3}$/.test(String(given)) ? Number(given) : given),
    z.number().nullish(),
  ),
  minimumSystemVersion: z.string().optional(),
  releaseDate: z.iso.datetime({ offset: true }).optional().catch(undefined),
  packages: z.unknown().optional(),
  signature: z.unknown().optional(),
  signatures: z.array(z.unknown()).nullish(),
});
export type UpdateInfo = z.infer<typeof UpdateInfo>;

/** `latest.yml`, `beta-mac.yml`, `latest-linux-arm64.yml`, `feature-login.yml`, `latest-arm64.yml`. */
const UPDATE_FILE =
  /^(?<channel>[A-Za-z0-9._-]+?)(?:-(?<own>x64|arm64|ia32|universal))?(?:-(?<os>mac|linux)(?:-(?<arch>[a-z0-9]+))?)?\.yml$/;
const CONFIG_FILES = ["builder-effective-config.yaml", "builder-debug.yml"];
const PLATFORM_EXTENSIONS: readonly [RegExp, Platform][] = [
  [/\.(exe|msi|appx)$/i, "windows"],
  [/\.(dmg|pkg)$|-mac\.zip$/i, "macos"],
  [/\.(AppImage|deb|rpm|pacman|snap)$/i, "linux"],
];
const UPDATE_SUFFIXES: Readonly<Record<Platform, string>> = { windows: "", macos: "-mac", linux: "-linux" };

/** What a release keeps of an update file that the publisher signed: all of it. */
export function signedDocumentsOf({ signature, signatures }: UpdateInfo, text: string) {
  if (!signature && !signatures?.length) return undefined;
  return { electron: { text, sha256: createHash("sha256").update(text).digest("hex") } };
}

type UpdateFile = {
  name: string;
  text: string;
  channel: string;
  platform: Platform;
  architecture: string | undefined;
  info: UpdateInfo;
};

/** The output folder of electron-builder. Null if the folder is of another tool. @throws AppError */
export async function findElectronBuilder(listing: Listing, hints: FolderHints): Promise<FoundFolder | null> {
  const updates = await readUpdateFiles(listing);
  if (updates.length === 0 && !CONFIG_FILES.some((name) => listing.files.has(name))) return null;
  const found: FoundFolder = { tool: "electron-builder", releases: [], missing: [], notes: [] };
  if (updates.length === 0) found.missing.push("latest.yml (set publish in electron-builder's configuration)");
  assertOneVersion(updates);
  const appName = await readAppName(listing);
  const listed = new Set<string>();
  const namelessOf = new Map<Platform, string>();
  for (const update of updates) {
    assertWhole(update);
    const isSigned = signedDocumentsOf(update.info, update.text) !== undefined;
    const files = update.info.files.flatMap(({ url, sha512, size }) => {
      const name = findFile(listing, url);
      if (name === undefined) found.missing.push(url);
      else listed.add(name);
      const expected = { by: update.name, sha512, sizeBytes: size };
      // Apps request the file by the name in a signed manifest.
      const artifact = isSigned ? { fileName: decodeURIComponent(url) } : undefined;
      return name === undefined ? [] : [{ name, ...toFile(listing, name), expected, artifact }];
    });
    const nameless = hints.architecture ?? update.architecture ?? (await namelessProgram(files, appName)) ?? "x64"; // electron-builder leaves x64 out
    namelessOf.set(update.platform, nameless);
    found.releases.push(...groupByArchitecture(update, files, appName, nameless));
  }
  const version = updates[0]?.info.version;
  addUnlisted(found, listing, listed, { version, appName, namelessOf });
  return found;
}

async function readUpdateFiles(listing: Listing): Promise<UpdateFile[]> {
  const updates: UpdateFile[] = [];
  for (const name of [...listing.files].filter((file) => !CONFIG_FILES.includes(file)).sort()) {
    const target = parseUpdateFileName(name);
    if (target === null) continue;
    const text = await readFile(path.join(listing.folder, name), "utf8");
    const parsed = UpdateInfo.safeParse(parseYaml(text));
    if (!parsed.success) continue; // another tool's file
    const { channel, platform, architecture } = target;
    updates.push({ name, text, channel, platform, architecture, info: parsed.data });
  }
  // generateUpdatesFilesForAllChannels writes alpha.yml and beta.yml beside the file of the release's own channel.
  const stable = updates.filter(({ channel }) => channel === "stable");
  return stable.length > 0 ? stable : updates.filter(({ channel }) => channel === updates.at(-1)?.channel);
}

/** What the name of an update file says. `isNamed`: it names its system, and is not for Windows. null: another name. */
export function parseUpdateFileName(
  name: string,
): (Omit<UpdateFile, "name" | "text" | "info"> & { isNamed: boolean }) | null {
  const { channel: written, own, os, arch = own } = UPDATE_FILE.exec(name)?.groups ?? {};
  if (written === undefined) return null;
  const lower = written.toLowerCase(); // the catalog's channels have no capitals, and the feed ignores case
  const channel = lower === "latest" ? "stable" : lower;
  const platform = os === "mac" ? "macos" : os === "linux" ? "linux" : "windows";
  return { channel, platform, architecture: arch === "arm" ? "armv7l" : arch, isNamed: os !== undefined };
}

function assertOneVersion(updates: readonly UpdateFile[]): void {
  const [first] = updates;
  const other = updates.find(({ info }) => info.version !== first?.info.version);
  if (!first || !other) return;
  throw invalidRelease(
    `${first.name} is of version ${first.info.version}, ${other.name} of ${other.info.version}: remove the older files.`,
  );
}

/** The small installer of nsis-web downloads a package that the feed would have to name. */
function assertWhole({ name, info }: UpdateFile): void {
  if (info.packages === undefined || info.packages === null) return;
  throw invalidRelease(
    `${name} is of an nsis-web installer, which downloads its package from where it was built: use the target nsis.`,
  );
}

async function readAppName({ folder, files }: Listing): Promise<string> {
  const [name = ""] = CONFIG_FILES;
  if (!files.has(name)) return "";
  const config = parseYaml(await readFile(path.join(folder, name), "utf8")) as { productName?: unknown } | null;
  return typeof config?.productName === "string" ? config.productName : "";
}

/** electron-builder may write a URL or a name without spaces for the file. */
function findFile({ files }: Listing, url: string): string | undefined {
  const decoded = URL.canParse(url, "file:///") ? decodeURIComponent(url) : url;
  const isSame = (name: string) => [url, decoded].includes(name) || name.replaceAll(" ", "-") === url;
  return [...files].find((name) => !name.includes("/") && isSame(name));
}

type Listed = Omit<DraftFile, "kinds"> & { name: string };

/** What the program says in a file whose name says no architecture. */
async function namelessProgram(files: readonly Listed[], appName: string): Promise<string | undefined> {
  for (const { name, file } of files) {
    const own = architectureIn(name, appName) === undefined ? await programArchitecture(file) : undefined;
    if (own !== undefined) return own;
  }
  return undefined;
}

function groupByArchitecture(
  { channel, platform, info, text }: UpdateFile,
  files: readonly Listed[],
  appName: string,
  nameless: string,
): FoundRelease[] {
  const architectureOf = ({ name }: Listed) => architectureIn(name, appName) ?? nameless;
  const { version, releaseNotes, stagingPercentage: rollout, minimumSystemVersion } = info;
  const notes = Array.isArray(releaseNotes) ? releaseNotes.find((one) => one.version === version)?.note : releaseNotes;
  // On macOS it is a version of the kernel.
  const minimum = platform === "windows" ? minimumSystemVersion : undefined;
  return [...new Set(files.map(architectureOf))].map((own) => ({
    platform,
    architecture: own,
    version,
    channel,
    fields: {
      notes: notes ?? undefined,
      rollout: rollout ?? undefined,
      minimumSystemVersion: minimum,
      releasedAt: info.releaseDate,
      signedDocuments: signedDocumentsOf(info, text),
    },
    files: assignKinds(
      platform,
      files.filter((file) => architectureOf(file) === own).map(({ name: _, ...file }) => file),
    ),
  }));
}

type FolderFacts = { version: string | undefined; appName: string; namelessOf: ReadonlyMap<Platform, string> };

/** Files of this version that no update file lists: further formats, or those of a platform without an update file. */
function addUnlisted(
  found: FoundFolder,
  listing: Listing,
  listed: ReadonlySet<string>,
  { version, appName, namelessOf }: FolderFacts,
): void {
  const names = [...listing.files].filter((name) => !name.includes("/") && !listed.has(name)).sort();
  for (const name of names) {
    const whole = name.replace(/\.blockmap$/, "");
    if (whole !== name && !listing.files.has(whole) && version && name.includes(version)) found.missing.push(whole);
    const platform = PLATFORM_EXTENSIONS.find(([pattern]) => pattern.test(name))?.[1];
    if (!platform) continue;
    if (!version || !name.includes(version)) {
      found.notes.push(`${name} is not published: it is not of this version.`);
      continue;
    }
    const releases = found.releases.filter((release) => release.platform === platform);
    const own = normalizeArchitecture(architectureIn(name, appName) ?? namelessOf.get(platform) ?? "x64");
    const release = releases.find(({ architecture }) => normalizeArchitecture(architecture) === own);
    if (release) release.files.push({ ...toFile(listing, name), kinds: ["other"] });
    else if (releases.length === 0) found.missing.push(`latest${UPDATE_SUFFIXES[platform]}.yml, for ${name}`);
    else throw new AppError("release_invalid", notNamed(name, own, platform));
  }
  for (const release of found.releases) release.files = withInstaller(release);
}

function notNamed(name: string, architecture: string, platform: Platform): string {
  return `${name} is for ${architecture}, which latest${UPDATE_SUFFIXES[platform]}.yml does not name, so another job's file of that name was overwritten: publish the folder of each job on its own. If only the name has no architecture, set --arch.`;
}

/** electron-builder does not list a disk image in latest-mac.yml if it writes no block map for it. */
function withInstaller({ platform, files }: FoundRelease): DraftFile[] {
  const image = files.find(({ file }) => /\.dmg$/i.test(file));
  if (platform !== "macos" || !image) return files;
  return assignKinds(
    platform,
    files.map(({ kinds: _, ...file }) => file),
  );
}
