import path from "node:path";
import { parse as parseSemVer } from "semver";
import type { z } from "zod";
import { CommandError } from "../../../../lib/errors";
import { fieldMessage } from "../../../../lib/platform/field-message";
import { type Platform, parsePlatform } from "../../../../lib/releases/platforms";
import { PLATFORM_FILES } from "../../../../lib/releases/publishing/publish-checks";
import { formatVersion, type SignedDocuments } from "../../../../lib/releases/schema";
import { parseSquirrelVersion } from "../../../../lib/releases/updates/nupkg";
import { type Headers, httpUrl } from "./http";

const MAX_VERSION_LENGTH = 256;

/** What a document states of a file. sha512 is in Base64, as in the catalog. */
export type Expected = { by: string; sizeBytes?: number; sha1?: string; sha256?: string; sha512?: string };

/** A file that a source names, and all that the source says of it. */
export type SourceFile = {
  name: string;
  /** The name to publish it under, if Squirrel.Windows reads another one. */
  fileName?: string;
  url: string;
  headers?: Headers;
  expected: Expected[];
  edSignature?: string;
  minisign?: string;
  platform?: Platform;
  architecture?: string;
  /** Where neither the file's name nor its program says one. */
  fallbackArchitecture?: string;
  /** Of a delta. */
  from?: string;
  /** electron-updater or Tauri updates with it. */
  isUpdate?: boolean;
  /** The URL of a block map. It need not exist. */
  blockMapUrl?: string | undefined;
  /** What only applies to the file's platform. */
  fields?: ReleaseFields;
};

/** The fields of a release in the catalog that a source may state. */
export type ReleaseFields = {
  notes?: string | undefined;
  notesUrl?: string | undefined;
  releasedAt?: string | undefined;
  rollout?: number | undefined;
  minimumSystemVersion?: string | undefined;
  buildVersion?: string | undefined;
  critical?: boolean | undefined;
  requiresFrom?: string | undefined;
  phasedRolloutIntervalSeconds?: number | undefined;
  signedDocuments?: Partial<SignedDocuments> | undefined;
};

export type SourceRelease = {
  version: string;
  channel: string;
  fields: ReleaseFields;
  files: SourceFile[];
  /** Files that nobody installs and no updater reads. */
  skipped: string[];
  /** Reads what takes further requests. */
  complete?: () => Promise<SourceRelease>;
};

/** `notes` are for the operator: what was left out. */
export type Source = { releases: SourceRelease[]; notes: string[] };

/** A feed: its name for messages, its text, and the URL that its files are relative to. */
export type FeedDocument = { name: string; text: string; url: string };

/** `where`: the line or the field. */
export const invalidFeed = (name: string, where: string, expected: string) =>
  new CommandError("feed_invalid", `${name}: ${where}: ${expected}`);

/** The catalog's version in a text such as `v1.2.3`, `app-v1.2.3-beta.1`, `1.2` or `1.2.3.4`. null: it has none. */
export function parseSourceVersion(text: string): string | null {
  const [, found = ""] =
    /(?:^|[^\d.])(\d+(?:\.\d+){1,3}(?:[-+][\w.+-]*)?)$/.exec(text.trim().slice(0, MAX_VERSION_LENGTH)) ?? [];
  const version = parseSemVer(found) ?? parseSquirrelVersion(found.replace(/^(\d+\.\d+\.\d+)\.0$/, "$1"));
  return version && formatVersion(version);
}

/** The platform that a file's name says. */
export function platformIn(name: string): Platform | undefined {
  const byExtension = PLATFORM_FILES.find(([pattern]) => pattern.test(name))?.[1];
  if (byExtension) return byExtension;
  const words = name.split(/[-_. ]+/);
  return words.map(parsePlatform).findLast((platform) => platform !== undefined);
}

/** The name in a URL. */
export function nameIn(url: URL): string {
  const last = url.pathname.split("/").at(-1) ?? "";
  try {
    return path.posix.basename(decodeURIComponent(last));
  } catch {
    return last;
  }
}

/** A time as the catalog has it; undefined for anything else. */
export function timeOf(text: string | undefined): string | undefined {
  const time = new Date(text ?? "");
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** @throws CommandError feed_invalid, which names the first field that is wrong */
export function parseAs<T>(schema: z.ZodType<T>, value: unknown, { name }: { name: string }): T {
  const parsed = schema.safeParse(value, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidFeed(name, issue?.path.join(".") || "the document", issue?.message ?? "is not valid");
}

/** The URL of a file. @throws CommandError feed_invalid if it is not an http or https one */
export function fileUrl({ name, url }: FeedDocument, field: string, text: string): URL {
  const found = httpUrl(text, url);
  if (found) return found;
  throw invalidFeed(name, field, `Must be an http or https URL, not ${text.slice(0, 200)}`);
}

/** @throws CommandError feed_invalid */
export function versionIn({ name }: FeedDocument, field: string, text: string): string {
  const version = parseSourceVersion(text);
  if (version !== null) return version;
  throw invalidFeed(name, field, `Must be a version such as 1.2.3, not ${text.slice(0, 100)}`);
}

const INSTALLABLE =
  /\.(exe|msi|msix|msixbundle|appx|appxbundle|nupkg|dmg|pkg|zip|tar\.gz|tgz|tar\.xz|AppImage|deb|rpm|pacman|snap|flatpak)$/i;
/** Programs that come beside an app: debug symbols, sources, what only the build needs. */
const ATTACHMENT = /(?:^|[-_. ])(symbols?|pdbs?|dsyms?|src|sources?|sbom)(?=[-_. ]|$)/i;

/** Whether people install a file, or updaters read it. */
export const isInstallable = (name: string): boolean => INSTALLABLE.test(name) && !ATTACHMENT.test(name);
