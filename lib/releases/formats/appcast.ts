import type { SemVer } from "semver";
import { type Artifact, formatVersion, type Release } from "../schema";
import type { SupportPolicy } from "../selection/support-policy";
import { emptyElement, escapeXml, textElement } from "./xml";

const NAMESPACE = "http://www.andymatuschak.org/xml-namespaces/sparkle";

export type AppcastItem = {
  release: Release;
  artifact: Artifact;
  isMandatory: boolean;
  policy: SupportPolicy;
  urlOf: (release: Release, file: Artifact) => string;
  /** CFBundleVersion of another version of the app; undefined if it is unknown. */
  buildVersionOf: (release: Release, version: SemVer) => string | undefined;
};

/** Renders an appcast: RSS 2.0 with Sparkle's elements (Sparkle 2, "Publishing an update"; WinSparkle, "Appcast Feeds"). */
export function renderAppcast(product: string, baseUrl: string, items: readonly AppcastItem[]): string {
  const title = escapeXml(product);
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:sparkle="${NAMESPACE}">
<channel>
<title>${title}</title>
<link>${escapeXml(baseUrl)}</link>
<description>Updates of ${title}</description>
${items.map(renderItem).join("\n")}
</channel>
</rss>
`;
}

/** Versions are elements, not attributes of the enclosure: WinSparkle would concatenate both. */
function renderItem(item: AppcastItem): string {
  const { release, artifact, urlOf } = item;
  const { minimumSystemVersion, phasedRolloutIntervalSeconds, notesUrl } = release;
  const version = formatVersion(release.version);
  return [
    "<item>",
    textElement("title", version),
    textElement("pubDate", release.releasedAt.toUTCString().replace("GMT", "+0000")),
    textElement("sparkle:version", release.buildVersion ?? version),
    textElement("sparkle:shortVersionString", version),
    ...criticalUpdate(item),
    ...minimumUpdateVersion(item),
    ...(minimumSystemVersion ? [textElement("sparkle:minimumSystemVersion", systemVersion(release))] : []),
    // A partial rollout has already selected this client: the client must not apply a second rollout.
    ...(phasedRolloutIntervalSeconds && release.rollout === 100
      ? [textElement("sparkle:phasedRolloutInterval", String(phasedRolloutIntervalSeconds))]
      : []),
    ...(notesUrl ? [textElement("sparkle:releaseNotesLink", notesUrl)] : description(release)),
    emptyElement("enclosure", { ...fileAttributes(artifact, urlOf(release, artifact)), ...typeAttributes(item) }),
    ...deltas(item),
    "</item>",
  ].join("\n");
}

/** Critical for all clients, or below a version. WinSparkle ignores the version, so only macOS gets one. */
function criticalUpdate({ release, isMandatory, policy }: AppcastItem): string[] {
  if (release.critical || isMandatory) return ["<sparkle:criticalUpdate/>"];
  const { mandatoryBelow, mandatoryBelowBuild } = policy;
  const below = release.buildVersion ? mandatoryBelowBuild : mandatoryBelow && formatVersion(mandatoryBelow);
  if (release.platform !== "macos" || below === null) return [];
  return [emptyElement("sparkle:criticalUpdate", { "sparkle:version": below })];
}

/** Read since Sparkle 2.9. Older clients get the required release by the version in their User-Agent. */
function minimumUpdateVersion({ release, buildVersionOf }: AppcastItem): string[] {
  const minimum = release.requiresFrom && buildVersionOf(release, release.requiresFrom);
  return minimum ? [textElement("sparkle:minimumUpdateVersion", minimum)] : [];
}

/** WinSparkle reads a third number as the service pack, which Windows 10 does not have. */
export function systemVersion({ platform, minimumSystemVersion }: Release): string {
  const parts = (minimumSystemVersion ?? "").split(".");
  return (platform === "windows" ? parts.slice(0, 2) : parts).join(".");
}

/** Sparkle shows Markdown since 2.9 and plain text since 2.4; WinSparkle shows HTML. */
function description({ platform, notes }: Release): string[] {
  if (notes === "") return [];
  if (platform === "windows") return [textElement("description", `<pre>${escapeXml(notes)}</pre>`)];
  return [`<description sparkle:format="markdown">${escapeXml(notes)}</description>`];
}

function fileAttributes({ sizeBytes, contentType, edSignature }: Artifact, url: string) {
  return { url, length: String(sizeBytes), type: contentType, "sparkle:edSignature": edSignature };
}

function typeAttributes({ release, artifact }: AppcastItem) {
  return {
    // Each client skips the other system's items.
    "sparkle:os": release.platform,
    // Without it, Sparkle derives the type from the URL, which may not end in the file name.
    "sparkle:installationType": /\.m?pkg$/i.test(artifact.fileName) ? "package" : undefined,
  };
}

/** WinSparkle would take a delta's enclosure for the update's. Sparkle takes the one from the build that it has. */
function deltas({ release, urlOf, buildVersionOf }: AppcastItem): string[] {
  if (release.platform !== "macos") return [];
  const enclosures = release.artifacts.deltas.flatMap((delta) => {
    const from = buildVersionOf(release, delta.from);
    if (from === undefined || !delta.edSignature || !/\.delta$/i.test(delta.fileName)) return [];
    const attributes = { ...fileAttributes(delta, urlOf(release, delta)), "sparkle:deltaFrom": from };
    return [emptyElement("enclosure", attributes)];
  });
  return enclosures.length > 0 ? ["<sparkle:deltas>", ...enclosures, "</sparkle:deltas>"] : [];
}
