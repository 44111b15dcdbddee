import { hash } from "node:crypto";
import { z } from "zod";
import { compareSystemVersions, shareComputers } from "../platforms";
import { parseXml, XmlAttribute, XmlText, xmlList } from "../publishing/files/read-xml";
import { completeFiles } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";
import { edKeysOf, type PublicKeys, verifyEdSignature } from "../signatures";

/**
 * The end of a signed appcast, which signs all bytes before it (Sparkle 2.9, `signAppcast` in common_cli/Signing.swift).
 * Stricter than Sparkle, which ignores the length, what follows, and the bits that base64 does not use.
 */
const SIGNING_BLOCK = /<!-- sparkle-signatures:\nedSignature: ([A-Za-z0-9+/]{85}[AQgw]==)\nlength: (\d{1,9})\n-->\n?$/;

/** What decides on which clients can get an item (SUAppcastDriver.m, `filterSupportedAppcast`). */
const REQUIREMENTS = [
  "minimumSystemVersion",
  "maximumSystemVersion",
  "minimumUpdateVersion",
  "minimumAutoupdateVersion",
  "hardwareRequirements",
  "phasedRolloutInterval",
  "channel",
] as const;

const Item = z.object({
  version: XmlText,
  shortVersionString: XmlText,
  bundleIdentifier: XmlText,
  ...(Object.fromEntries(REQUIREMENTS.map((name) => [name, XmlText])) as Record<
    (typeof REQUIREMENTS)[number],
    typeof XmlText
  >),
  enclosure: xmlList(
    z.object({
      "@url": XmlAttribute.optional(),
      "@length": XmlAttribute.optional(),
      "@edSignature": XmlAttribute.optional(),
      "@version": XmlAttribute.optional(),
      "@os": XmlAttribute.optional(),
    }),
  ),
});

const Appcast = z.object({ rss: z.object({ channel: z.object({ item: xmlList(Item) }) }) });

/** An item that Sparkle reads on macOS. */
export type AppcastEntry = z.infer<typeof Item> & {
  /** `sparkle:version`, which is compared with CFBundleVersion. */
  build: string;
  url: string | undefined;
  edSignature: string | undefined;
  sizeBytes: number | undefined;
};

/** `offered`: the items that some client takes. Sparkle takes the newest one whose requirements the client meets. */
type SignedAppcast = { items: readonly AppcastEntry[]; offered: readonly AppcastEntry[] };

/** By the document's hash: all loads of a catalog have most documents in common. */
const cached = new Map<string, SignedAppcast | null>();
let cachedLength = 0;
/** All documents of the largest catalog: each index of it reads them all. */
const MAX_CACHED_LENGTH = 64 * 1024 * 1024;

/** Items are compared with each other. */
const MAX_ITEMS = 500;
const MAX_BUILD_LENGTH = 128;

/** Reads an appcast for macOS; null if Sparkle could not, or if it is larger than any real one. */
function readAppcast(document: string): SignedAppcast | null {
  const key = hash("sha256", document);
  const known = cached.get(key);
  if (known !== undefined) return known;
  const items = parseItems(document);
  const appcast = items && { items, offered: items.filter((item) => !items.some((other) => replaces(other, item))) };
  cachedLength += document.length;
  if (cachedLength > MAX_CACHED_LENGTH) {
    cached.clear();
    cachedLength = document.length;
  }
  cached.set(key, appcast);
  return appcast;
}

/** The items of an appcast for macOS. */
export const appcastItems = (document: string): readonly AppcastEntry[] => readAppcast(document)?.items ?? [];

function parseItems(document: string): AppcastEntry[] | null {
  try {
    const { item: all } = Appcast.parse(parseXml(Buffer.from(document))).rss.channel;
    const items = all.flatMap((item) => {
      const [file] = item.enclosure;
      const build = item.version ?? file?.["@version"];
      if (build === undefined || !/^macos$/i.test(file?.["@os"] ?? "macos")) return [];
      const length = file?.["@length"];
      const sizeBytes = length === undefined ? undefined : Number(length);
      return { ...item, build, url: file?.["@url"], edSignature: file?.["@edSignature"], sizeBytes };
    });
    const isReal = items.length <= MAX_ITEMS && items.every(({ build }) => build.length <= MAX_BUILD_LENGTH);
    return isReal ? items : null;
  } catch {
    return null;
  }
}

/** Whether every client that meets the requirements of an item gets a newer one instead. */
function replaces(newer: AppcastEntry, older: AppcastEntry): boolean {
  const isNewer = compareBuilds(newer.build, older.build) > 0;
  if (!isNewer || newer.phasedRolloutInterval !== undefined) return false;
  return REQUIREMENTS.every((name) => newer[name] === undefined || newer[name] === older[name]);
}

/** Why a release must not be offered with a signed appcast, for people; undefined if Sparkle accepts it. */
export function appcastProblem(document: string, release: Release, keys: PublicKeys): string | undefined {
  return signatureProblem(document, release, edKeysOf(keys)) ?? contentProblem(document, release);
}

/** Why a release's own appcast is for another version or file; undefined if it is not, or if there is none. */
export function foreignAppcast(release: Release): string | undefined {
  const document = release.signedDocuments.sparkle;
  return document ? contentProblem(document, release) : undefined;
}

function signatureProblem(document: string, { product }: Release, edKeys: readonly string[]): string | undefined {
  const block = SIGNING_BLOCK.exec(document);
  const [, edSignature, length] = block ?? [];
  if (!block || edSignature === undefined) {
    return "The appcast does not end with a signature: sign it with generate_appcast or sign_update of Sparkle 2.9.";
  }
  if (edKeys.length === 0) return `The catalog has no EdDSA key of ${product}: set it once with --ed-key.`;
  const signed = Buffer.from(document.slice(0, block.index));
  if (Number(length) === signed.byteLength && edKeys.some((key) => verifyEdSignature(edSignature, key, signed))) {
    return undefined;
  }
  return `The signature of the appcast does not match it and ${product}'s key: sign it again after every change.`;
}

function contentProblem(document: string, release: Release): string | undefined {
  if (release.platform !== "macos") return "Only Sparkle on macOS reads signed appcasts.";
  const items = readAppcast(document)?.items;
  if (!items) return "The appcast is not one that Sparkle can read.";
  const [build, version] = [buildOf(release), formatVersion(release.version)];
  if (!items.some((item) => item.build === build))
    return `The appcast does not offer ${version}: no item has the sparkle:version ${build}.`;
  if (!ownItem(document, release))
    return `The appcast offers another file as ${version}: its sparkle:edSignature and length are not those of the release.`;
  const newer = items.find((item) => !(compareBuilds(item.build, build) <= 0));
  return newer && `The appcast offers ${nameOf(newer)} before ${version}: sign one in which ${version} is the newest.`;
}

/** The item of an appcast that offers a file of the release. Some tools write a length of 0. */
export function ownItem(document: string, release: Release): { item: AppcastEntry; file: Artifact } | undefined {
  for (const item of appcastItems(document)) {
    const file = completeFiles(release).find(({ edSignature }) => edSignature && edSignature === item.edSignature);
    if (item.build !== buildOf(release) || !file) continue;
    if ([undefined, 0, file.sizeBytes].includes(item.sizeBytes)) return { item, file };
  }
  return undefined;
}

const buildOf = ({ buildVersion, version }: Release) => buildVersion ?? formatVersion(version);
const nameOf = ({ shortVersionString, build }: AppcastEntry) => shortVersionString ?? build;

/** Compares what Sparkle reads of versions: it stops at a dash. NaN if one does not begin with a number. */
function compareBuilds(a: string, b: string): number {
  const [left, right] = [a, b].map((build) => /^\d+(\.\d+)*/.exec(build)?.[0]);
  return left === undefined || right === undefined ? Number.NaN : compareSystemVersions(left, right);
}

/**
 * The releases whose appcasts also offer a version that is yanked, paused, only partly rolled out, on another channel or
 * without files that are served, with the name of that version. A version that the catalog does not have is the publisher's
 * affair.
 */
export function withheldAppcasts(releases: readonly Release[]): Map<Release, string> {
  const byBuild = new Map<string, Release[]>();
  for (const release of releases) {
    const key = `${release.product} ${release.platform} ${buildOf(release)}`;
    byBuild.set(key, [...(byBuild.get(key) ?? []), release]);
  }
  const withheld = new Map<Release, string>();
  for (const release of releases) {
    const { product, platform, signedDocuments } = release;
    if (typeof signedDocuments.sparkle !== "string") continue;
    const { offered } = readAppcast(signedDocuments.sparkle) ?? { offered: [] };
    const found = offered.find((item) => {
      if (item.build === buildOf(release)) return false;
      const known = byBuild.get(`${product} ${platform} ${item.build}`) ?? [];
      return known.length > 0 && !known.some((other) => isForClientsOf(release, other));
    });
    if (found) withheld.set(release, nameOf(found));
  }
  return withheld;
}

function isForClientsOf(release: Release, other: Release): boolean {
  const { channel, architecture, rollout, yanked } = other;
  const isVisible = channel === "stable" || channel === release.channel;
  const isServed = !yanked && rollout === 100 && completeFiles(other).length > 0;
  return isVisible && isServed && shareComputers(architecture, release.architecture);
}
