import { stat } from "node:fs/promises";
import { CommandError } from "../../../errors";
import { BUILT_IN_VALUES } from "../../catalog/snapshot";
import { formatVersion, Version } from "../../schema";
import { parseSquirrelVersion } from "../../updates/nupkg";
import type { Destination, ReleaseDraft } from "../draft";
import { invalidRelease } from "../invalid-release";
import type { ManifestEntry } from "../manifest-file";
import { addAttestations } from "./attestations";
import { findElectronBuilder } from "./electron-builder";
import { type FolderHints, type FoundFolder, type FoundRelease, type Listing, listFolder } from "./found-releases";
import { assertProgramArchitectures } from "./program-architecture";
import { findSquirrel } from "./squirrel";
import { findTauri } from "./tauri";
import { findVelopack } from "./velopack";

/** What all releases of a folder share. `fields` and `channel` replace what the tool wrote. */
export type FolderOptions = Pick<ReleaseDraft, "publicKeys" | "confirmations"> & {
  product: string;
  channel?: string | undefined;
  hints: FolderHints;
  fields: ManifestEntry;
  destination?: Destination;
};

/** The drafts of a folder, and what the operator should know about them. */
export type DraftedFolder = { tool: string; drafts: ReleaseDraft[]; notes: string[] };

/**
 * Makes drafts of what electron-builder, Tauri, Velopack or Squirrel.Windows has written.
 * @throws AppError folder_unknown; folder_incomplete, which names the missing files; release_invalid if a package has a
 *   different version than its name, or a program is for another architecture
 */
export async function draftFolder(folder: string, options: FolderOptions): Promise<DraftedFolder> {
  if (!(await stat(folder).catch(() => null))?.isDirectory()) {
    throw new CommandError("folder_unknown", `${folder} is not a folder.`);
  }
  const listing = await listFolder(folder);
  const found = await findReleases(listing, options.hints);
  if (found.missing.length > 0) {
    throw new CommandError(
      "folder_incomplete",
      `The output of ${found.tool} is not complete. These files are missing:\n${found.missing.map((name) => `  - ${name}`).join("\n")}`,
    );
  }
  for (const release of found.releases) {
    assertVersion(release, options.hints);
    await assertProgramArchitectures(release);
  }
  await addAttestations(listing, found);
  noteWithoutUpdate(found);
  if (options.channel === undefined) noteChannels(found);
  const drafts = found.releases.map((release) => toDraft(release, options));
  return { tool: found.tool, drafts, notes: found.notes };
}

/** People can download these releases, and no app updates to them. */
function noteWithoutUpdate({ releases, notes }: FoundFolder): void {
  for (const { platform, architecture, files } of releases) {
    if (files.some(({ kinds }) => kinds.includes("update"))) continue;
    const needed = platform === "macos" ? ": the folder has no .zip or .app.tar.gz for it" : "";
    notes.push(`Apps cannot update on ${platform} ${architecture}${needed}.`);
  }
}

/** A word in a version may mean a channel, or nothing: `1.4.0-build.10`. */
function noteChannels({ releases, notes }: FoundFolder): void {
  for (const channel of new Set(releases.map((release) => release.channel))) {
    if (!BUILT_IN_VALUES.channel.has(channel)) notes.push(`The channel is "${channel}": --channel sets another one.`);
  }
}

async function findReleases(listing: Listing, hints: FolderHints): Promise<FoundFolder> {
  for (const find of [findVelopack, findSquirrel, findTauri, findElectronBuilder]) {
    const found = await find(listing, hints);
    if (found) return found;
  }
  throw new CommandError(
    "folder_unknown",
    `${listing.folder} is not the output of electron-builder, Tauri, Velopack or Squirrel.Windows: publish its files with add.`,
  );
}

function assertVersion({ version }: FoundRelease, hints: FolderHints): void {
  if (hints.version === undefined) return;
  const meant = [Version.safeParse(hints.version).data, parseSquirrelVersion(hints.version)];
  if (meant.some((one) => one && formatVersion(one) === version)) return;
  throw invalidRelease(`The folder has version ${version}, not ${hints.version}.`);
}

function toDraft(
  { platform, architecture, version, channel, fields, files }: FoundRelease,
  { product, fields: own, destination, publicKeys = {}, confirmations = {}, ...options }: FolderOptions,
): ReleaseDraft {
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return {
    release: { product, platform, architecture, version, ...fields, ...given, channel: options.channel ?? channel },
    files: files.map((file) => ({ ...file, destination: destination ?? { kind: "folder" } })),
    publicKeys,
    confirmations,
  };
}
