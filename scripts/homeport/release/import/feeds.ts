import { XMLValidator } from "fast-xml-parser";
import { compareBuild } from "semver";
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { CommandError } from "../../../../lib/errors";
import { unescapeXml } from "../../../../lib/platform/unescape-xml";
import { groupBy } from "../../../../lib/releases/catalog/snapshot";
import { systemVersionOf } from "../../../../lib/releases/formats/electron";
import {
  architectureIn,
  normalizeArchitecture,
  type Platform,
  parsePlatform,
  parseVelopackSystem,
  SystemVersion,
} from "../../../../lib/releases/platforms";
import { parseXml } from "../../../../lib/releases/publishing/files/read-xml";
import {
  parseUpdateFileName,
  signedDocumentsOf,
  UpdateInfo,
} from "../../../../lib/releases/publishing/folder/electron-builder";
import { channelOf } from "../../../../lib/releases/publishing/folder/found-releases";
import { parseReleases } from "../../../../lib/releases/publishing/folder/squirrel";
import { FEED_FILE, Feed } from "../../../../lib/releases/publishing/folder/velopack";
import { parseAppcast } from "./appcast";
import { findDocument, getDocument } from "./http";
import {
  type FeedDocument,
  fileUrl,
  invalidFeed,
  nameIn,
  parseAs,
  platformIn,
  type ReleaseFields,
  type Source,
  type SourceFile,
  type SourceRelease,
  timeOf,
  versionIn,
} from "./source";

const SIBLINGS = ["-mac", "-linux", "-linux-arm64"];

/** Reads a feed, and with `latest.yml` also those of the other systems beside it. @throws CommandError */
export async function readFeeds(url: URL): Promise<Source> {
  const { text, response } = await getDocument(url.href);
  const name = nameIn(url) || url.host;
  const source = parseFeed({ name, text, url: response.url || url.href });
  const isElectron = /\.yml$/.test(name) && parseUpdateFileName(name)?.isNamed === false && !/^winget\./.test(name);
  for (const suffix of isElectron ? SIBLINGS : []) {
    const sibling = new URL(url);
    sibling.pathname = url.pathname.replace(/\.yml$/, `${suffix}.yml`);
    const found = await findDocument(sibling.href);
    if (found === null) continue;
    const more = parseFeed({ name: nameIn(sibling), text: found.text, url: found.response.url || sibling.href });
    source.releases.push(...more.releases);
    source.notes.push(...more.notes);
  }
  return source;
}

/** Reads a feed of any kind that Homeport serves. @throws CommandError feed_invalid, which names the line or field */
export function parseFeed(feed: FeedDocument): Source {
  const { name, text } = feed;
  const start = text.trimStart()[0];
  if (start === "<") return withTargets(feed, parseXmlFeed(feed));
  const releases = () => {
    if (start === "{" || start === "[") return parseJsonFeed(feed);
    if (/^RELEASES/.test(name)) return squirrelReleases(feed);
    const document = parseYamlLines(feed);
    return "Installers" in document ? wingetRelease(feed, document) : electronRelease(feed, document);
  };
  return withTargets(feed, { releases: releases(), notes: [] });
}

/** Homeport's URLs say the platform and architecture, and a query such as `?arch=arm64` the latter. */
function withTargets(feed: FeedDocument, source: Source): Source {
  const asked = new URL(feed.url).searchParams.get("arch");
  for (const file of source.releases.flatMap(({ files }) => files)) {
    const [, system = "", architecture] = /\/(\w+)-(\w+)\/[^/]+$/.exec(new URL(file.url).pathname) ?? [];
    const platform = parsePlatform(system);
    if (platform && architecture && architectureIn(architecture)) Object.assign(file, { platform, architecture });
    else if (asked) file.fallbackArchitecture = normalizeArchitecture(asked);
  }
  return source;
}

function parseYamlLines({ name, text }: FeedDocument): Record<string, unknown> {
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter });
    const [error] = document.errors;
    if (error) throw invalidFeed(name, `line ${lineCounter.linePos(error.pos[0]).line}`, `Must be YAML: ${error.code}`);
    const value: unknown = document.toJS();
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw invalidFeed(name, "the document", `Must be YAML: ${(error as Error).message}`); // too deep, or too many aliases
  }
  throw invalidFeed(name, "line 1", "Must be latest.yml, appcast.xml, RELEASES, releases.win.json or latest.json");
}

function parseJsonLines({ name, text }: FeedDocument): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, position] = /position (\d+)/.exec((error as Error).message) ?? [];
    const line = text.slice(0, Number(position ?? text.length)).split("\n").length;
    throw invalidFeed(name, `line ${line}`, "Must be JSON");
  }
}

/** @throws CommandError feed_invalid */
function parseXmlLines({ name, text }: FeedDocument): Record<string, unknown> {
  const valid = XMLValidator.validate(text);
  if (valid !== true) throw invalidFeed(name, `line ${valid.err.line}`, `Must be XML: ${valid.err.msg.slice(0, 200)}`);
  try {
    return parseXml(Buffer.from(text)) as Record<string, unknown>;
  } catch (error) {
    throw invalidFeed(name, "the document", `Must be XML: ${(error as Error).message}`);
  }
}

function parseXmlFeed(feed: FeedDocument): Source {
  const document = parseXmlLines(feed);
  if ("rss" in document) return parseAppcast(feed, document);
  if ("AppInstaller" in document) return { releases: appInstallerRelease(feed, document), notes: [] };
  throw invalidFeed(feed.name, "the document", "Must be an appcast (rss) or an AppInstaller");
}

const Package = z.object({
  "@Version": z.string(),
  "@Uri": z.string(),
  "@ProcessorArchitecture": z.string().optional(),
});
const AppInstaller = z.object({
  AppInstaller: z
    .object({ MainPackage: Package.optional(), MainBundle: Package.optional() })
    .refine(({ MainPackage, MainBundle }) => MainPackage ?? MainBundle, "Must have a MainPackage or a MainBundle"),
});

function appInstallerRelease(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { MainPackage, MainBundle } = parseAs(AppInstaller, document, feed).AppInstaller;
  return [MainPackage ?? MainBundle].flatMap((main): SourceRelease[] => {
    if (!main) return [];
    const url = fileUrl(feed, "@Uri", unescapeXml(main["@Uri"]));
    const version = versionIn(feed, "@Version", main["@Version"]);
    const architecture = normalizeArchitecture(main["@ProcessorArchitecture"] ?? "x64"); // a bundle is offered to all
    const file: SourceFile = { name: nameIn(url), url: url.href, expected: [], platform: "windows", architecture };
    return [{ version, channel: channelOf(version), fields: {}, files: [file], skipped: [] }];
  });
}

const hex = (text: string | null | undefined) => text?.toLowerCase();

/** Base64, or hexadecimal as some tools write it. */
const sha512Of = (text: string) => (/^[0-9a-f]{128}$/i.test(text) ? Buffer.from(text, "hex").toString("base64") : text);

function electronRelease(feed: FeedDocument, document: Record<string, unknown>): SourceRelease[] {
  const { path: first, sha512 } = document; // all that electron-builder wrote before version 20
  const files = document.files ?? (typeof first === "string" ? [{ url: first, sha512 }] : undefined);
  const info = parseAs(UpdateInfo, { ...document, files }, feed);
  if (info.packages)
    throw invalidFeed(feed.name, "packages", "Must not be of an nsis-web installer: use the target nsis");
  const version = versionIn(feed, "version", info.version);
  const target = parseUpdateFileName(feed.name);
  const channel = target === null || target.channel === "stable" ? channelOf(version) : target.channel;
  const notes = Array.isArray(info.releaseNotes)
    ? info.releaseNotes.find((one) => one.version === info.version)?.note
    : info.releaseNotes;
  const platform = target?.isNamed ? target.platform : platformIn(info.files[0]?.url ?? "");
  const fields: ReleaseFields = {
    notes: notes ?? undefined,
    releasedAt: timeOf(info.releaseDate),
    rollout: info.stagingPercentage ?? undefined,
    minimumSystemVersion: minimumOf(platform, info.minimumSystemVersion),
    signedDocuments: signedDocumentsOf(info, feed.text),
  };
  const common = {
    ...(platform && { platform }),
    fallbackArchitecture: target?.architecture ?? "x64", // electron-builder leaves x64 out
    isUpdate: true,
  };
  const fallbackName = typeof first === "string" ? first : undefined;
  const own = info.files.map((file, index) => {
    const found = electronFile(feed, file, index, fallbackName);
    // Apps request the file by the name in a signed manifest, which GitHub may have changed.
    return { ...found, ...common, ...(fields.signedDocuments && { fileName: found.name }) };
  });
  return [{ version, channel, fields, files: own, skipped: [] }];
}

/** `fallbackName`: of a file whose URL does not end in one. */
function electronFile(
  feed: FeedDocument,
  { url: text, sha512, size }: UpdateInfo["files"][number],
  index: number,
  fallbackName: string | undefined,
): SourceFile {
  const url = fileUrl(feed, `files.${index}.url`, text);
  const inUrl = nameIn(url);
  const name = inUrl.includes(".") ? inUrl : (fallbackName ?? inUrl);
  const blockMap = new URL(url);
  blockMap.pathname += ".blockmap";
  return {
    name,
    url: url.href,
    expected: [{ by: feed.name, sha512: sha512Of(sha512), ...(size !== undefined && { sizeBytes: size }) }],
    ...(/\.(exe|zip)$/i.test(name) && { blockMapUrl: blockMap.href }),
  };
}

/** It is a version of the kernel, which may end with the lowest prerelease. */
function minimumOf(platform: Platform | undefined, text: string | undefined): string | undefined {
  const kernel = text?.replace(/-0$/, "");
  if (kernel === undefined || !SystemVersion.safeParse(kernel).success) return undefined;
  return platform && systemVersionOf(platform, kernel);
}

const Winget = z.object({
  PackageVersion: z.string(), // 1.10 without quotes would be the number 1.1
  ReleaseNotes: z.string().optional(),
  ReleaseDate: z.string().optional(),
  Installers: z.array(
    z.object({
      Architecture: z.string(),
      InstallerUrl: z.string(),
      InstallerSha256: z.string(),
      ReleaseDate: z.string().optional(),
    }),
  ),
});

function wingetRelease(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { PackageVersion, ReleaseNotes, ReleaseDate, Installers } = parseAs(Winget, document, feed);
  const version = versionIn(feed, "PackageVersion", PackageVersion);
  const files = Installers.map(({ Architecture, InstallerUrl, InstallerSha256 }, index): SourceFile => {
    const url = fileUrl(feed, `Installers.${index}.InstallerUrl`, InstallerUrl);
    const expected = [{ by: feed.name, sha256: InstallerSha256.toLowerCase() }];
    return {
      name: nameIn(url),
      url: url.href,
      expected,
      platform: "windows",
      architecture: normalizeArchitecture(Architecture),
    };
  });
  const fields = { notes: ReleaseNotes, releasedAt: timeOf(ReleaseDate ?? Installers[0]?.ReleaseDate) };
  return [{ version, channel: channelOf(version), fields, files, skipped: [] }];
}

function squirrelReleases(feed: FeedDocument): SourceRelease[] {
  const { packages, unreadable } = parseReleases(feed.text);
  const [wrong] = unreadable;
  if (wrong !== undefined) {
    const line = feed.text.split(/\r?\n/).findIndex((one) => one.includes(wrong)) + 1;
    throw invalidFeed(
      feed.name,
      `line ${line}`,
      `Must be a SHA-1, the name of a package and its size, not "${wrong.slice(0, 100)}"`,
    );
  }
  const byVersion = groupBy(packages, ({ version }) => version);
  const versions = [...byVersion.keys()].sort(compareBuild);
  return versions.flatMap((version, index): SourceRelease[] => {
    const own = byVersion.get(version) ?? [];
    const files = own.flatMap((one): SourceFile[] => {
      const url = fileUrl(feed, one.name, one.name);
      const expected = [{ by: feed.name, sha1: one.sha1, sizeBytes: one.sizeBytes }];
      const from = versions[index - 1];
      const file = { name: nameIn(url), fileName: one.fileName, url: url.href, expected, platform: "windows" as const };
      const known = { ...file, ...(one.architecture && { architecture: normalizeArchitecture(one.architecture) }) };
      if (!one.isDelta) return [known];
      return from === undefined ? [] : [{ ...known, from }];
    });
    const [, percent] = /(\d{1,3})\s*%/.exec(own.find(({ isDelta }) => !isDelta)?.comment ?? "") ?? [];
    const fields = { rollout: percent === undefined ? undefined : Math.min(Number(percent), 100) };
    if (files.every((file) => "from" in file)) return []; // an older one, for its delta alone
    return [{ version, channel: channelOf(version), fields, files, skipped: [] }];
  });
}

function parseJsonFeed(feed: FeedDocument): SourceRelease[] {
  const document = parseJsonLines(feed);
  const has = (name: string) => typeof document === "object" && document !== null && name in document;
  if (has("Assets")) return velopackReleases(feed, document);
  if (has("platforms")) return tauriRelease(feed, document);
  if (has("releases")) return squirrelMacReleases(feed, document);
  if (has("url")) return dynamicRelease(feed, document);
  throw invalidFeed(
    feed.name,
    "the document",
    "Must have Assets (Velopack), platforms (Tauri), or releases or url (Squirrel.Mac)",
  );
}

function velopackReleases(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { Assets } = parseAs(Feed, document, feed);
  const packages = Assets.filter(({ Type }) => ["Full", "Delta"].includes(Type));
  const byVersion = groupBy(packages, ({ Version }) => Version);
  const versions = [...byVersion.keys()].sort(compareBuild);
  const words = (FEED_FILE.exec(feed.name)?.groups?.name ?? "").toLowerCase().split("-");
  const platform = parseVelopackSystem(words[0] ?? "");
  if (platform) words.shift();
  const architecture = words[0] === undefined ? undefined : architectureIn(words[0]);
  if (architecture) words.shift();
  return versions.flatMap((version, index): SourceRelease[] => {
    const own = byVersion.get(version) ?? [];
    const files = own.flatMap(({ FileName, Type, SHA1, SHA256, Size }): SourceFile[] => {
      const url = fileUrl(feed, FileName, FileName);
      const [sha1, sha256, sizeBytes] = [hex(SHA1), hex(SHA256), Size ?? undefined];
      const stated = {
        by: feed.name,
        ...(sha1 && { sha1 }),
        ...(sha256 && { sha256 }),
        ...(sizeBytes && { sizeBytes }),
      };
      const target = { ...(platform && { platform }), ...(architecture && { architecture }) };
      const file: SourceFile = { name: nameIn(url), url: url.href, expected: [stated], ...target };
      const from = versions[index - 1];
      if (Type === "Full") return [file];
      return from === undefined ? [] : [{ ...file, from }];
    });
    const full = own.find(({ Type }) => Type === "Full");
    if (!full) return []; // an older one, for its delta alone
    const fields = { notes: full.NotesMarkdown ?? undefined };
    return [{ version, channel: words.join("-") || channelOf(version), fields, files, skipped: [] }];
  });
}

const Tauri = z.object({
  version: z.string(),
  notes: z.string().nullish(),
  pub_date: z.string().nullish(),
  platforms: z.record(z.string(), z.object({ url: z.string(), signature: z.string() })),
});

function tauriRelease(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { version: text, notes, pub_date, platforms } = parseAs(Tauri, document, feed);
  const version = versionIn(feed, "version", text);
  const files = new Map<string, SourceFile>();
  for (const [target, { url: location, signature }] of Object.entries(platforms)) {
    const url = fileUrl(feed, `platforms.${target}.url`, location);
    const [system = "", name] = target.split("-");
    const platform = parsePlatform(system);
    const architecture = name === undefined ? undefined : normalizeArchitecture(name);
    const known = files.get(url.href);
    // One file for both is universal.
    if (known)
      known.architecture =
        known.architecture === architecture || platform !== "macos" ? known.architecture : "universal";
    else files.set(url.href, signedFile(url, signature, { platform, architecture }));
  }
  const fields = { notes: notes ?? undefined, releasedAt: timeOf(pub_date ?? undefined) };
  return [{ version, channel: channelOf(version), fields, files: [...files.values()], skipped: [] }];
}

type Target = { platform: Platform | undefined; architecture: string | undefined };

function signedFile(url: URL, minisign: string | undefined, { platform, architecture }: Target): SourceFile {
  return {
    name: nameIn(url),
    url: url.href,
    expected: [],
    isUpdate: true,
    ...(minisign && { minisign }),
    ...(platform && { platform }),
    ...(architecture && { architecture }),
  };
}

/** What Tauri's dynamic server and Squirrel.Mac's respond with. */
const Dynamic = z.object({
  version: z.string().optional(),
  name: z.string().optional(),
  url: z.string(),
  signature: z.string().optional(),
  notes: z.string().nullish(),
  pub_date: z.string().nullish(),
});

function dynamicRelease(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { version: text, name, url, signature, notes, pub_date } = parseAs(Dynamic, document, feed);
  const version = versionIn(feed, text === undefined ? "name" : "version", text ?? name ?? "");
  const platform = signature === undefined ? ("macos" as const) : undefined;
  const file = signedFile(fileUrl(feed, "url", url), signature, { platform, architecture: undefined });
  const fields = { notes: notes ?? undefined, releasedAt: timeOf(pub_date ?? undefined) };
  return [{ version, channel: channelOf(version), fields, files: [file], skipped: [] }];
}

/** The file that Squirrel.Mac reads without a server. */
const SquirrelMac = z.object({ releases: z.array(z.object({ version: z.string(), updateTo: Dynamic })) });

function squirrelMacReleases(feed: FeedDocument, document: unknown): SourceRelease[] {
  const { releases } = parseAs(SquirrelMac, document, feed);
  return releases.flatMap(({ version, updateTo }) =>
    dynamicRelease(feed, { ...updateTo, version: updateTo.version ?? version }),
  );
}
