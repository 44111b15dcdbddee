import { z } from "zod";
import { unescapeXml } from "../../../../lib/platform/unescape-xml";
import { DEFAULT_ARCHITECTURES, type Platform, parsePlatform } from "../../../../lib/releases/platforms";
import { XmlAttribute, XmlText, xmlList } from "../../../../lib/releases/publishing/files/read-xml";
import { channelOf } from "../../../../lib/releases/publishing/folder/found-releases";
import { EdSignature } from "../../../../lib/releases/signatures";
import { httpUrl } from "./http";
import {
  type FeedDocument,
  fileUrl,
  nameIn,
  parseAs,
  parseSourceVersion,
  platformIn,
  type Source,
  type SourceFile,
  type SourceRelease,
  timeOf,
  versionIn,
} from "./source";

const Enclosure = z.object({
  "@url": XmlAttribute,
  "@length": XmlAttribute.optional(),
  "@edSignature": EdSignature.optional(),
  "@version": XmlAttribute.optional(),
  "@shortVersionString": XmlAttribute.optional(),
  "@deltaFrom": XmlAttribute.optional(),
  "@os": XmlAttribute.optional(),
});
type Enclosure = z.infer<typeof Enclosure>;

/** An item of Sparkle 2 and WinSparkle. Older appcasts have the versions in the enclosure. */
const Item = z.object({
  title: XmlText,
  pubDate: XmlText,
  version: XmlText,
  shortVersionString: XmlText,
  channel: XmlText,
  description: z.unknown().optional(),
  releaseNotesLink: XmlText,
  minimumSystemVersion: XmlText,
  minimumUpdateVersion: XmlText,
  phasedRolloutInterval: XmlText,
  hardwareRequirements: XmlText,
  criticalUpdate: z.unknown().optional(),
  enclosure: xmlList(Enclosure),
  deltas: z.preprocess(
    (value) => (value === "" ? undefined : value),
    z.object({ enclosure: xmlList(Enclosure) }).optional(),
  ),
});
type Item = z.infer<typeof Item>;

const Appcast = z.object({
  rss: z.object({ channel: z.preprocess((value) => (value === "" ? {} : value), z.object({ item: xmlList(Item) })) }),
});

/** The releases of an appcast: one for each enclosure. @throws CommandError feed_invalid */
export function parseAppcast(feed: FeedDocument, document: unknown): Source {
  const { item: items } = parseAs(Appcast, document, feed).rss.channel;
  const versions = new Map(items.flatMap((item) => (buildOf(item) ? [[buildOf(item) ?? "", versionOf(item)]] : [])));
  const source: Source = { releases: [], notes: [] };
  for (const [index, item] of items.entries()) {
    const name = item.title ?? `Item ${index + 1}`;
    if (item.enclosure.length === 0) source.notes.push(`${name} is skipped: it has no file.`);
    else if (parseSourceVersion(versionOf(item)) === null) source.notes.push(`${name} is skipped: it has no version.`);
    else
      for (const one of item.enclosure) source.releases.push(toRelease(feed, `item ${index + 1}`, item, one, versions));
  }
  return source;
}

const buildOf = ({ version, enclosure: [first] }: Item) => version ?? first?.["@version"];
const versionOf = (item: Item) =>
  item.shortVersionString ?? item.enclosure[0]?.["@shortVersionString"] ?? buildOf(item) ?? "";

function toRelease(
  feed: FeedDocument,
  at: string,
  item: Item,
  enclosure: Enclosure,
  versions: ReadonlyMap<string, string>,
): SourceRelease {
  const text = enclosure["@shortVersionString"] ?? versionOf(item);
  const version = versionIn(feed, `${at}: sparkle:shortVersionString`, text);
  const build = item.version ?? enclosure["@version"];
  const file = toFile(feed, `${at}: enclosure`, enclosure);
  const platform = file.platform ?? "macos";
  const architecture = item.hardwareRequirements === "arm64" ? "arm64" : DEFAULT_ARCHITECTURES[platform];
  const target = { platform, fallbackArchitecture: architecture };
  const deltas = (item.deltas?.enclosure ?? []).flatMap((delta): SourceFile[] => {
    const from = parseSourceVersion(versions.get(delta["@deltaFrom"] ?? "") ?? delta["@deltaFrom"] ?? "");
    return from === null ? [] : [{ ...toFile(feed, `${at}: delta`, delta), ...target, from }];
  });
  return {
    version,
    channel: item.channel?.toLowerCase() ?? channelOf(version),
    fields: {
      ...fieldsOf(feed, item, versions),
      buildVersion: build !== version && isNumbers(build) ? build : undefined,
    },
    files: [{ ...file, ...target }, ...deltas],
    skipped: [],
  };
}

const isNumbers = (text: string | undefined) => /^\d{1,9}(\.\d{1,9}){0,5}$/.test(text ?? "");

function toFile(feed: FeedDocument, at: string, enclosure: Enclosure): SourceFile {
  const url = fileUrl(feed, `${at} url`, enclosure["@url"]);
  const sizeBytes = Number(enclosure["@length"] ?? 0); // some tools write 0
  const [system] = (enclosure["@os"] ?? "").split("-"); // WinSparkle: windows-x64
  const platform: Platform | undefined = parsePlatform(system ?? "") ?? platformIn(nameIn(url));
  return {
    name: nameIn(url),
    url: url.href,
    expected: [{ by: feed.name, ...(sizeBytes > 0 && { sizeBytes }) }],
    ...(platform && { platform }),
    ...(enclosure["@edSignature"] && { edSignature: enclosure["@edSignature"] }),
  };
}

function fieldsOf({ url }: FeedDocument, item: Item, versions: ReadonlyMap<string, string>) {
  const minimum = item.minimumUpdateVersion && (versions.get(item.minimumUpdateVersion) ?? item.minimumUpdateVersion);
  const interval = Number(item.phasedRolloutInterval ?? 0);
  const critical = item.criticalUpdate as Record<string, unknown> | string | undefined;
  const isForAll = critical !== undefined && (typeof critical !== "object" || critical["@version"] === undefined);
  return {
    notes: notesOf(item.description),
    notesUrl: item.releaseNotesLink && httpUrl(item.releaseNotesLink, url)?.href,
    releasedAt: timeOf(item.pubDate),
    minimumSystemVersion: isNumbers(item.minimumSystemVersion) ? item.minimumSystemVersion : undefined,
    critical: isForAll || undefined,
    requiresFrom: (minimum && parseSourceVersion(minimum)) || undefined,
    phasedRolloutIntervalSeconds: Number.isInteger(interval) && interval > 0 ? interval : undefined,
  };
}

const MAX_HTML_LENGTH = 100_000;

/** Sparkle's notes are HTML unless they say otherwise; the catalog's are Markdown. */
function notesOf(description: unknown): string | undefined {
  const text = XmlText.parse(description);
  const format = (Array.isArray(description) ? description[0] : description)?.["@format"];
  if (text === undefined || format === "markdown" || format === "plain-text") return text;
  const pre = /^<pre>(.*)<\/pre>$/s.exec(text)?.[1];
  return unescapeXml(pre ?? toMarkdown(text.slice(0, MAX_HTML_LENGTH))).trim();
}

function toMarkdown(html: string): string {
  return html
    .replace(/<(style|script)\b.*?(<\/\1>|$)/gis, "")
    .replace(/\s+/g, " ")
    .replace(/ ?<h([1-6])\b[^<>]*> ?/gi, (_, level: string) => `\n\n${"#".repeat(Number(level))} `)
    .replace(/ ?<li\b[^<>]*> ?/gi, "\n- ")
    .replace(/ ?<br\b[^<>]*> ?/gi, "\n")
    .replace(/ ?<\/?(p|div|ul|ol|h[1-6])\b[^<>]*> ?/gi, "\n\n")
    .replace(/<[^<>]*>/g, "")
    .replace(/ *\n[ \n]*\n */g, "\n\n");
}
