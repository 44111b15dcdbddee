import { downloadUrl } from "../download-url";
import { formatVersion, type Release } from "../schema";
import type { SupportPolicy } from "../selection/support-policy";
import { compareSystemVersions } from "../system-version";
import { type Feed, type FeedInput, selectByFileName } from "./feed";

const NAMESPACE = "http://www.andymatuschak.org/xml-namespaces/sparkle";

/**
 * Sparkle 2 ("Publishing an update") and WinSparkle ("Appcast Feeds"): RSS 2.0 with Sparkle's elements. The
 * client compares versions itself. Further items are for older systems, which the client skips to.
 */
export const sparkle: Feed = {
  name: "sparkle",
  selectArtifact: selectByFileName(
    { windows: /\.(exe|msi)$/i, macos: /\.(zip|dmg|aar|pkg|mpkg|tar|tgz|tar\.(gz|bz2|xz))$/i },
    ({ edSignature }) => edSignature !== undefined, // an app with a public key refuses it
  ),
  requirements:
    "Sparkle takes a .zip, .dmg, .tar.xz, .pkg or their like, WinSparkle an .exe or .msi, with an EdDSA signature. WinSparkle compares two numbers of a system version: name `systemVersion`.",
  comparesSystemVersion: (release) =>
    compareSystemVersions(systemVersion(release), release.minimumSystemVersion ?? "") === 0,
  contentType: "application/rss+xml; charset=utf-8",
  render: write,
};

function write(news: FeedInput): string {
  const { release, baseUrl, mandatory, supportPolicyOf: supportOf } = news;
  const title = escaped(release.product);
  const write = (one: Release, isMandatory: boolean) => item(one, baseUrl, critical(one, isMandatory, supportOf(one)));
  const older = () => news.findReleasesForOlderSystems().map((other) => write(other, false));
  const items = news.isWithheld ? [] : [write(release, mandatory === true), ...older()];
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:sparkle="${NAMESPACE}">
<channel>
<title>${title}</title>
<link>${escaped(baseUrl)}</link>
<description>Updates of ${title}</description>
${items.join("\n")}
</channel>
</rss>
`;
}

/** WinSparkle adds a version attribute to the element of that name, so there are elements alone. */
function item(release: Release, baseUrl: string, critical: string[]): string {
  const { minimumSystemVersion, phasedRolloutIntervalSeconds, notesUrl } = release;
  const version = formatVersion(release.version);
  return [
    "<item>",
    element("title", version),
    element("pubDate", release.releasedAt.toUTCString().replace("GMT", "+0000")),
    element("sparkle:version", release.buildVersion ?? version),
    element("sparkle:shortVersionString", version),
    ...critical,
    ...(minimumSystemVersion ? [element("sparkle:minimumSystemVersion", systemVersion(release))] : []),
    // Whoever sees a partly rolled-out release has been chosen already: no second choice in the client.
    ...(phasedRolloutIntervalSeconds && release.rollout === 100
      ? [element("sparkle:phasedRolloutInterval", String(phasedRolloutIntervalSeconds))]
      : []),
    ...(notesUrl ? [element("sparkle:releaseNotesLink", notesUrl)] : description(release)),
    enclosure(release, baseUrl),
    "</item>",
  ].join("\n");
}

/**
 * Critical for everybody, or below a version that the client compares its own with; WinSparkle would take that as
 * critical for everybody.
 */
function critical(
  release: Release,
  isMandatory: boolean,
  { mandatoryBelow, mandatoryBelowBuild }: SupportPolicy,
): string[] {
  if (release.critical || isMandatory) return ["<sparkle:criticalUpdate/>"];
  const below = release.buildVersion ? mandatoryBelowBuild : mandatoryBelow && formatVersion(mandatoryBelow);
  if (release.platform !== "macos" || below === null) return [];
  return [`<sparkle:criticalUpdate sparkle:version="${escaped(below)}"/>`];
}

/** WinSparkle reads a third number as the service pack, of which Windows 10 has none. */
function systemVersion({ platform, minimumSystemVersion }: Release): string {
  const parts = (minimumSystemVersion ?? "").split(".");
  return (platform === "windows" ? parts.slice(0, 2) : parts).join(".");
}

/** Sparkle shows Markdown since 2.9 and plain text since 2.4; WinSparkle shows HTML. */
function description({ platform, notes }: Release): string[] {
  if (notes === "") return [];
  if (platform === "windows") return [element("description", `<pre>${escaped(notes)}</pre>`)];
  return [`<description sparkle:format="markdown">${escaped(notes)}</description>`];
}

function enclosure(release: Release, baseUrl: string): string {
  const offer = sparkle.selectArtifact(release);
  if (!offer) return "";
  const { artifact, kind } = offer;
  const attributes = {
    url: downloadUrl(baseUrl, release, kind),
    length: String(artifact.sizeBytes),
    type: artifact.contentType,
    "sparkle:edSignature": artifact.edSignature,
    "sparkle:os": release.platform === "windows" ? "windows" : undefined,
    // Sparkle would look at the address, which does not end in the file's name.
    "sparkle:installationType": /\.m?pkg$/i.test(artifact.fileName) ? "package" : undefined,
  };
  const written = Object.entries(attributes).map(([name, value]) => value && ` ${name}="${escaped(value)}"`);
  return `<enclosure${written.filter(Boolean).join("")}/>`;
}

function element(name: string, text: string): string {
  return `<${name}>${escaped(text)}</${name}>`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

/** Text for an element or an attribute; characters that XML 1.0 cannot hold (2.2, Char) become U+FFFD. */
function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "")
    .replace(/[^\t\n\r\u0020-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
