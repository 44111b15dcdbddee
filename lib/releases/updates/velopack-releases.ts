import { COMMON_BUILDS, normalizeArchitecture, Platform, parseVelopackSystem, RUNS_ON } from "../platforms";
import { type Artifact, formatVersion, type Release } from "../schema";
import type { ReleaseSelector } from "../selection/parse-query";
import { deltaChain, fullPackage, type NupkgKind, velopackPackageId } from "./nupkg";
import { type SelectedUpdate, selectUpdate, type UpdaterRules } from "./select-update";
import { missingRelease, recordCheck, toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

const RULES: UpdaterRules = {
  selectArtifact: (release) => fullPackage(release, velopackPackageId),
  comparesSystemVersion: () => false,
};

type Target = { platform: Platform; channel: string; architectures: readonly string[] };
/** The part of a request that decides on the release. */
type SelectionInput = Parameters<typeof selectUpdate>[0];
type Found = SelectedUpdate & { selector: ReleaseSelector; release: Release };

/**
 * `releases.{channel}.json` of Velopack (VelopackAssetFeed). The channel may name the platform, an architecture and a
 * channel of the catalog: `win`, `linux-arm64`, `osx-beta`. Without a platform, the query names it, or it has builds.
 */
export const velopackReleases: UpdateFeed = {
  pattern: /^releases\.(?<name>[A-Za-z0-9._-]{1,128})\.json$/,
  resolve: (request, { name = "" }) => {
    const [found, other] = findVelopackReleases(request, name);
    if (!found) return null;
    if (other) throw missingRelease(`Several platforms have the channel ${name}: name one with os, such as os=win.`);
    const { selector, release, shouldKeepInstalled, isClientSpecific } = found;
    recordCheck(request, selector, release);
    const text = JSON.stringify({ Assets: shouldKeepInstalled ? [] : assetsOf(request, selector, release) });
    const isOwn = isClientSpecific || shouldKeepInstalled;
    return toDocument({ text, contentType: "application/json", isClientSpecific: isOwn });
  },
};

/** The release that `releases.{name}.json` offers: one for each platform that the request may mean. */
export function findVelopackReleases(input: SelectionInput, name: string): Found[] {
  return parseChannel(input, name).flatMap(({ platform, channel, architectures }) => {
    for (const architecture of architectures) {
      const selector = { platform, channel, architecture, product: input.product };
      const { release, ...selected } = selectUpdate(input, selector, RULES);
      if (release) return [{ ...selected, selector, release }];
    }
    return [];
  });
}

function parseChannel({ snapshot: { knownValues }, channel, query }: SelectionInput, name: string): Target[] {
  const words = name.toLowerCase().split("-");
  const named = parseVelopackSystem(words[0] ?? "");
  if (named) words.shift();
  const [, ridSystem = "", ridArchitecture] = /^([a-z]+)[\d.]*(?:-(\w+))?/.exec(query.rid ?? "") ?? [];
  const platform = named ?? parseVelopackSystem(query.os ?? ridSystem);
  const hasArchitecture = knownValues.architecture.has(normalizeArchitecture(words[0] ?? ""));
  const own = hasArchitecture ? words.shift() : undefined;
  const rest = words.join("-");
  if (rest !== "" && !knownValues.channel.has(rest)) return [];
  const system = query.arch ?? ridArchitecture;
  return (platform ? [platform] : Platform.options).map((one) => {
    const architectures = own ? [normalizeArchitecture(own)] : architecturesOf(one, system);
    return { platform: one, channel: rest || channel, architectures };
  });
}

/** What a client sends is the system's architecture, and the app may be built for another one that runs there. */
function architecturesOf(platform: Platform, system: string | undefined): readonly string[] {
  if (system === undefined) return COMMON_BUILDS[platform];
  const own = normalizeArchitecture(system);
  return RUNS_ON[platform][own] ?? [own];
}

function assetsOf(request: UpdateRequest, selector: ReleaseSelector, release: Release) {
  const full = fullPackage(release, velopackPackageId);
  if (!full) return [];
  const deltas = deltaChain(request, selector, release, full, velopackPackageId);
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
