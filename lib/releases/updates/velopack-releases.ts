import { completeFiles } from "../release-files";
import { type Artifact, formatVersion, normalizeArchitecture, type Platform, type Release } from "../schema";
import type { ReleaseSelector } from "../selection/release-selector";
import { deltaChain } from "./delta-chain";
import { type NupkgKind, velopackPackageId } from "./nupkg";
import { recordCheck } from "./record-check";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

const PLATFORMS: ReadonlyMap<string, Platform> = new Map([
  ["win", "windows"],
  ["osx", "macos"],
  ["linux", "linux"],
]);
/** Of an app whose channel names no architecture. A universal build counts as x64 on macOS. */
const DEFAULT_ARCHITECTURES: Readonly<Record<Platform, readonly string[]>> = {
  windows: ["x64", "ia32", "arm64"],
  macos: ["x64", "arm64"],
  linux: ["x64", "arm64"],
};
const RULES: UpdaterRules = { selectArtifact: fullPackage, comparesSystemVersion: () => false };

type Target = { platform: Platform; channel: string; architectures: readonly string[] };

/**
 * `releases.{channel}.json` of Velopack (VelopackAssetFeed): the newest whole package, and the deltas from the installed
 * version. Velopack's channel names the platform, and may name an architecture and a channel of the catalog: `win`,
 * `linux-arm64`, `osx-beta`.
 */
export const velopackReleases: UpdateFeed = {
  pattern: /^releases\.(?<name>[A-Za-z0-9._-]{1,128})\.json$/,
  resolve: (request, { name = "" }) => {
    const { platform, channel, architectures } = parseChannel(request, name) ?? NOTHING;
    for (const architecture of architectures) {
      const selector = { platform, channel, architecture, product: request.product };
      const { release, shouldKeepInstalled, isClientSpecific } = selectUpdate(request, selector, RULES);
      if (!release) continue;
      recordCheck(request, selector, release);
      const text = JSON.stringify({ Assets: shouldKeepInstalled ? [] : assetsOf(request, selector, release) });
      const isOwn = isClientSpecific || shouldKeepInstalled;
      return toDocument({ text, contentType: "application/json", isClientSpecific: isOwn });
    }
    return null;
  },
};

const NOTHING: Target = { platform: "linux", channel: "", architectures: [] };

function parseChannel({ snapshot: { knownValues }, channel, query }: UpdateRequest, name: string): Target | null {
  const [os = "", ...words] = name.toLowerCase().split("-");
  const platform = PLATFORMS.get(os);
  if (!platform) return null;
  const [first = ""] = words;
  const named = knownValues.architecture.has(normalizeArchitecture(first)) ? words.shift() : query.arch;
  const rest = words.join("-");
  if (rest !== "" && !knownValues.channel.has(rest)) return null;
  const architectures = named ? [normalizeArchitecture(named)] : DEFAULT_ARCHITECTURES[platform];
  return { platform, channel: rest || channel, architectures };
}

function fullPackage(release: Release): Artifact | undefined {
  return completeFiles(release).find((artifact) => isPackage(artifact, release, "full"));
}

function isPackage({ fileName, sha1 }: Artifact, { version }: Release, kind: NupkgKind): boolean {
  return sha1 !== undefined && velopackPackageId(fileName, version, kind) !== null;
}

function assetsOf({ snapshot, current }: UpdateRequest, selector: ReleaseSelector, release: Release) {
  const full = fullPackage(release);
  if (!full) return [];
  const range = current && { from: current, to: release, fullBytes: full.sizeBytes };
  const deltas = range ? deltaChain(snapshot, selector, range, (one, of) => isPackage(one, of, "delta")) : [];
  return [asset(release, full, "full"), ...deltas.map((one) => asset(one.release, one.delta, "delta"))];
}

function asset({ version, notes }: Release, artifact: Artifact, kind: NupkgKind) {
  return {
    PackageId: velopackPackageId(artifact.fileName, version, kind),
    Version: formatVersion(version),
    Type: kind === "full" ? "Full" : "Delta",
    FileName: artifact.fileName,
    SHA1: artifact.sha1?.toUpperCase(),
    SHA256: artifact.sha256.toUpperCase(),
    Size: artifact.sizeBytes,
    NotesMarkdown: notes,
  };
}
