import { downloadUrl } from "../download-url";
import { formatVersion, type Release } from "../schema";
import type { SupportPolicy } from "../selection/support-policy";
import { compareSystemVersions } from "../system-version";
import { type Feed, type FeedInput, selectByFileName } from "./feed";

const NAMESPACE = "http://www.andymatuschak.org/xml-namespaces/sparkle";

/**
 * Sparkle 2 ("Publishing an update") and WinSparkle ("Appcast Feeds"): RSS 2.0 with Sparkle's elements. The client
 * compares versions itself. Further items are for older systems; the client skips the items that it cannot run.
 */
export const sparkle: Feed = {
  name: "sparkle",
  selectArtifact: selectByFileName(
    { windows: /\.(exe|msi)$/i, macos: /\.(zip|dmg|aar|pkg|mpkg|tar|tgz|tar\.(gz|bz2|xz))$/i },
    ({ edSignature }) => edSignature !== undefined, // an app with a public key rejects unsigned updates
  ),
  requirements:
    "Sparkle needs a .zip, .dmg, .tar.xz, .pkg or similar, WinSparkle an .exe or .msi, with an EdDSA signature. WinSparkle compares only two numbers of a system version: send systemVersion.",
  comparesSystemVersion: (release) =>
    compareSystemVersions(systemVersion(release), release.minimumSystemVersion ?? "") === 0,
  comparesBuildVersions: true,
  contentType: "application/rss+xml; charset=utf-8",
  render,
};

function render(input: FeedInput): string {
  const { release, baseUrl, mandatory, supportPolicyOf, isWithheld, findReleasesForOlderSystems } = input;
  const title = escapeXml(release.product);
  const renderItem = (one: Release, isMandatory: boolean) =>
    item(one, baseUrl, criticalUpdate(one, isMandatory, supportPolicyOf(one)));
  const olderItems = () => findReleasesForOlderSystems().map((older) => renderItem(older, false));
  const items = isWithheld ? [] : [renderItem(release, mandatory === true), ...olderItems()];
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:sparkle="${NAMESPACE}">
<channel>
<title>${title}</title>
<link>${escapeXml(baseUrl)}</link>
<description>Updates of ${title}</description>
${items.join("\n")}
</channel>
</rss>
`;
}

/** Versions are elements, not attributes of the enclosure: WinSparkle would concatenate both. */
function item(release: Release, baseUrl: string, criticalUpdate: string[]): string {
  const { minimumSystemVersion, phasedRolloutIntervalSeconds, notesUrl } = release;
  const version = formatVersion(release.version);
  return [
    "<item>",
    element("title", version),
    element("pubDate", release.releasedAt.toUTCString().replace("GMT", "+0000")),
    element("sparkle:version", release.buildVersion ?? version),
    element("sparkle:shortVersionString", version),
    ...criticalUpdate,
    ...(minimumSystemVersion ? [element("sparkle:minimumSystemVersion", systemVersion(release))] : []),
    // A partial rollout has selected this client already; the client must not draw again.
    ...(phasedRolloutIntervalSeconds && release.rollout === 100
      ? [element("sparkle:phasedRolloutInterval", String(phasedRolloutIntervalSeconds))]
      : []),
    ...(notesUrl ? [element("sparkle:releaseNotesLink", notesUrl)] : description(release)),
    enclosure(release, baseUrl),
    "</item>",
  ].join("\n");
}

/**
 * Critical for every client, or for clients below a version. WinSparkle ignores the version and would treat the update as
 * critical for every client, so only macOS gets one.
 */
function criticalUpdate(
  release: Release,
  isMandatory: boolean,
  { mandatoryBelow, mandatoryBelowBuild }: SupportPolicy,
): string[] {
  if (release.critical || isMandatory) return ["<sparkle:criticalUpdate/>"];
  const below = release.buildVersion ? mandatoryBelowBuild : mandatoryBelow && formatVersion(mandatoryBelow);
  if (release.platform !== "macos" || below === null) return [];
  return [`<sparkle:criticalUpdate sparkle:version="${escapeXml(below)}"/>`];
}

/** WinSparkle reads a third number as the service pack, which Windows 10 does not have. */
function systemVersion({ platform, minimumSystemVersion }: Release): string {
  const parts = (minimumSystemVersion ?? "").split(".");
  return (platform === "windows" ? parts.slice(0, 2) : parts).join(".");
}

/** Sparkle shows Markdown since 2.9 and plain text since 2.4; WinSparkle shows HTML. */
function description({ platform, notes }: Release): string[] {
  if (notes === "") return [];
  if (platform === "windows") return [element("description", `<pre>${escapeXml(notes)}</pre>`)];
  return [`<description sparkle:format="markdown">${escapeXml(notes)}</description>`];
}

function enclosure(release: Release, baseUrl: string): string {
  const artifact = sparkle.selectArtifact(release);
  if (!artifact) return "";
  const attributes = {
    url: downloadUrl(baseUrl, release, artifact),
    length: String(artifact.sizeBytes),
    type: artifact.contentType,
    "sparkle:edSignature": artifact.edSignature,
    "sparkle:os": release.platform === "windows" ? "windows" : undefined,
    // Without it, Sparkle derives the type from the URL, which does not end in the file name.
    "sparkle:installationType": /\.m?pkg$/i.test(artifact.fileName) ? "package" : undefined,
  };
  const rendered = Object.entries(attributes).map(([name, value]) => value && ` ${name}="${escapeXml(value)}"`);
  return `<enclosure${rendered.filter(Boolean).join("")}/>`;
}

function element(name: string, text: string): string {
  return `<${name}>${escapeXml(text)}</${name}>`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

/** Escapes text for an element or attribute. Characters that XML 1.0 forbids (section 2.2) become U+FFFD. */
function escapeXml(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "")
    .replace(/[^\t\n\r\u0020-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
