import { readdir } from "node:fs/promises";
import path from "node:path";
import type { Platform } from "../../platforms";
import type { SignedDocuments } from "../../schema";
import type { DraftFile } from "../draft";

/** What the operator knows better than the folder. */
export type FolderHints = { version?: string | undefined; architecture?: string | undefined };

/** A release that a tool has built: everything but its product. */
export type FoundRelease = {
  platform: Platform;
  architecture: string;
  version: string;
  /** The catalog's channel. */
  channel: string;
  fields?: {
    notes?: string | undefined;
    minimumSystemVersion?: string | undefined;
    rollout?: number | undefined;
    releasedAt?: string | undefined;
    signedDocuments?: Partial<SignedDocuments> | undefined;
  };
  files: DraftFile[];
};

/** `missing` names what the tool should have written. `notes` are for the operator. */
export type FoundFolder = { tool: string; releases: FoundRelease[]; missing: string[]; notes: string[] };

/** The paths of a folder's files, relative to it and with forward slashes. */
export type Listing = { folder: string; files: ReadonlySet<string> };

const MAX_DEPTH = 2;
/** Folders with the program's own files. */
const IGNORED_FOLDER = /^\.|-unpacked$|\.app$|\.AppDir$|^node_modules$/;

/** Lists a folder and the folders in it. @throws errors of the file system */
export async function listFolder(folder: string): Promise<Listing> {
  const files = new Set<string>();
  const visit = async (relative: string, depth: number) => {
    for (const entry of await readdir(path.join(folder, relative), { withFileTypes: true })) {
      const name = path.posix.join(relative, entry.name);
      if (entry.isFile()) files.add(name);
      else if (entry.isDirectory() && depth < MAX_DEPTH && !IGNORED_FOLDER.test(entry.name)) {
        await visit(name, depth + 1);
      }
    }
  };
  await visit("", 1);
  return { folder, files };
}

export function toFile({ folder }: Listing, name: string): Pick<DraftFile, "file"> {
  return { file: path.join(folder, ...name.split("/")) };
}

type KindPreference = Readonly<Record<"installer" | "update", readonly RegExp[]>>;
const WINDOWS = [/setup[^/]*\.exe$/i, /\.exe$/i, /\.msi$/i];
const LINUX = [/\.AppImage$/i, /\.deb$/i, /\.rpm$/i];

/** Which file is the installer and the update, the preferred one first. */
const PREFERENCES: Readonly<Record<Platform, KindPreference>> = {
  windows: { installer: WINDOWS, update: WINDOWS },
  macos: { installer: [/\.dmg$/i, /\.pkg$/i, /\.zip$/i], update: [/\.app\.tar\.gz$/i, /\.zip$/i] },
  linux: { installer: LINUX, update: LINUX },
};

/** Makes one file the installer and one the update; they may be the same one. All further files are others. */
export function assignKinds(platform: Platform, files: readonly Omit<DraftFile, "kinds">[]): DraftFile[] {
  const preferred = (kind: "installer" | "update") => {
    const found = PREFERENCES[platform][kind].map((pattern) => files.find(({ file }) => pattern.test(file)));
    return found.find((file) => file !== undefined);
  };
  const [installer, update] = [preferred("installer"), preferred("update")];
  return files.map((file) => {
    const kinds = [file === installer && "installer", file === update && "update"] as const;
    const own = kinds.filter((kind) => kind !== false);
    return { ...file, kinds: own.length > 0 ? own : ["other"] };
  });
}

/** `1.2.0-beta.1` is for the channel beta. */
export function channelOf(version: string): string {
  return /-([a-z]+)/i.exec(version)?.[1]?.toLowerCase() ?? "stable";
}
