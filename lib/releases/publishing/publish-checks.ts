import { SemVer } from "semver";
import { findUnsignedUpdater } from "../catalog/signed-documents";
import { BUILT_IN_VALUES, indexReleases } from "../catalog/snapshot";
import { appcastItems, ownItem, withheldAppcasts } from "../formats/signed-appcast";
import { COMMON_BUILDS, compareSystemVersions, type Platform, shareComputers, VELOPACK_SYSTEMS } from "../platforms";
import { releaseFiles } from "../release-files";
import { isSampleSignature } from "../sample/sample-signatures";
import { formatVersion, type PackageIdentity, type Release, UPDATER_NAMES } from "../schema";
import { candidateLists } from "../selection/select-release";
import { parseMinisignature } from "../signatures";
import {
  parseVelopackName,
  separateNumber,
  squirrelPackageId,
  squirrelVersion,
  velopackPackageId,
} from "../updates/nupkg";
import { namedBuilds } from "../updates/signed-manifests";
import { storedFilePath } from "../updates/stored-files";
import { findVelopackReleases } from "../updates/velopack-releases";
import { foreignPackage } from "./files/package-facts";
import { invalidRelease, refuse } from "./invalid-release";
import type { Confirmations } from "./schema";

/** File extensions by the only platform that can use them. */
export const PLATFORM_FILES: readonly [RegExp, Platform][] = [
  [/\.(exe|msi|msix|msixbundle|appx|appxbundle)$/i, "windows"],
  [/\.(dmg|pkg|mpkg|aar|app\.tar\.gz|app\.zip)$/i, "macos"],
  [/\.(deb|rpm|appimage|pacman|snap|flatpak)$/i, "linux"],
];

/**
 * Rejects what could be served but is likely a mistake.
 * @throws AppError; confirmation_required if `isNew` permits it
 */
export function assertPublishable(
  release: Release,
  others: readonly Release[],
  { isNew, isPrerelease }: Confirmations,
): void {
  if (release.sample) throw invalidRelease("A release cannot be published as a sample: leave the field sample out.");
  refuse(sampleSignature(release), "signature_invalid");
  refuse(
    wrongRequirement(release) ??
      foreignFile(release) ??
      misnamedPackage(release, others) ??
      foreignPackage(release) ??
      wrongDelta(release) ??
      (isPrerelease ? undefined : stablePrerelease(release)) ??
      wrongOrder(release, others) ??
      lowBuildVersion(release, others) ??
      lowPackageVersion(release, others),
  );
  if (!isNew) refuse(unknownValue(release, others) ?? unknownSigningKey(release, others), "confirmation_required");
}

/** Anyone can sign with the samples' key, so the service would treat the release as a sample. */
function sampleSignature(release: Release): string | undefined {
  if (!releaseFiles(release).some(({ minisign }) => isSampleSignature(minisign))) return undefined;
  return "The minisign signature is by the key of the sample releases, which anyone can use: sign the file with your own key.";
}

function foreignFile(release: Release): string | undefined {
  const isForeign = ([pattern, platform]: (typeof PLATFORM_FILES)[number], fileName: string) =>
    platform !== release.platform && pattern.test(fileName);
  const file = releaseFiles(release).find(({ fileName }) => PLATFORM_FILES.some((one) => isForeign(one, fileName)));
  return file && `${file.fileName} is not a file for ${release.platform}.`;
}

/** Squirrel.Windows reads the version from the file name, and Velopack's clients would install another one. */
function misnamedPackage(release: Release, others: readonly Release[]): string | undefined {
  const { version, artifacts, product } = release;
  const name = squirrelVersion(version);
  const namesake = others.find(
    (one) =>
      one.product === product &&
      one.platform === release.platform &&
      !one.yanked &&
      one.version.compare(version) !== 0 &&
      squirrelVersion(one.version) === name,
  );
  const deltas = new Set<unknown>(artifacts.deltas);
  for (const file of releaseFiles(release).filter(({ fileName }) => /\.nupkg$/i.test(fileName))) {
    const kind = deltas.has(file) ? "delta" : "full";
    const isSquirrel = squirrelPackageId(file.fileName, version, kind) !== null;
    const isVelopack = velopackPackageId(file.fileName, version, kind) !== null;
    if (isSquirrel && !isVelopack && namesake)
      return `Squirrel.Windows calls both ${formatVersion(version)} and ${formatVersion(namesake.version)} ${name}: choose another version.`;
    if (isSquirrel || isVelopack) continue;
    return `${file.fileName} is not the name of a ${kind} package of version ${formatVersion(version)}, such as Acme-${name}-${kind}.nupkg.`;
  }
  return undefined;
}

function wrongDelta({ version, artifacts }: Release): string | undefined {
  const delta = artifacts.deltas.find(({ from }) => from.compare(version) >= 0);
  return (
    delta &&
    `${delta.fileName} is a delta from ${formatVersion(delta.from)}, which is not older than ${formatVersion(version)}.`
  );
}

function stablePrerelease({ channel, version }: Release): string | undefined {
  if (channel !== "stable" || version.prerelease.length === 0) return undefined;
  return `${formatVersion(version)} is a prerelease and would be offered to every client: choose its channel (--channel beta), or confirm with --prerelease.`;
}

/** SemVer compares `beta10` and `beta9` as texts: the numbers must say the same order, or the tenth reaches nobody. */
function wrongOrder(release: Release, others: readonly Release[]): string | undefined {
  const { version } = release;
  const isSameSeries = (other: Release) =>
    (["product", "platform", "channel"] as const).every((name) => other[name] === release[name]);
  const series = others.filter((other) => isSameSeries(other) && !other.yanked);
  const isKnown = series.some((other) => other.version.compare(version) === 0); // another build, or more files
  if (version.prerelease.length === 0 || isKnown) return undefined;
  const other = series.find(
    (one) => one.version.compare(version) !== withNumbers(one.version).compare(withNumbers(version)),
  );
  if (!other) return undefined;
  const [own, before] = [formatVersion(version), formatVersion(other.version)];
  const place = version.compare(other.version) < 0 ? "below" : "above";
  return `${own} sorts ${place} ${before}, so it would be offered to the wrong clients: SemVer reads a number only after a dot. Write ${formatVersion(withNumbers(version))}, and yank ${before} if it is written differently.`;
}

/** `1.2.0-beta10` as `1.2.0-beta.10`. */
function withNumbers({ major, minor, patch, prerelease, build }: SemVer): SemVer {
  const words = prerelease.map((word) => separateNumber(String(word)));
  const suffix = build.length > 0 ? `+${build.join(".")}` : "";
  return new SemVer(`${major}.${minor}.${patch}${words.length > 0 ? `-${words.join(".")}` : ""}${suffix}`);
}

/**
 * Sparkle offers only releases whose build version is higher than the installed one: each newer version needs a higher one, whichever
 * is published first.
 */
export function lowBuildVersion(release: Release, others: readonly Release[]): string | undefined {
  const own = buildVersionOf(release);
  const other = others.find((one) => {
    if (one.yanked || (!one.buildVersion && !release.buildVersion)) return false;
    const difference = compareSystemVersions(buildVersionOf(one), own);
    return (difference >= 0 && canUpdateTo(one, release)) || (difference <= 0 && canUpdateTo(release, one));
  });
  if (!other) return undefined;
  const found = `${other.id} has ${buildVersionOf(other)}, and Sparkle would not update`;
  if (canUpdateTo(other, release))
    return `The build version must increase: ${found} it to ${own}. Set a higher one with --build-version.`;
  return `The build version must be lower than that of a newer version: ${found} ${own} to it. Set a lower one with --build-version.`;
}

/** App Installer updates only to a higher version of a package. Of two prereleases of one version, only the fourth number differs. */
function lowPackageVersion(release: Release, others: readonly Release[]): string | undefined {
  const older = others.filter((other) => !other.yanked && canUpdateTo(other, release));
  for (const { fileName, packageIdentity: own } of releaseFiles(release)) {
    if (!own) continue;
    const isReached = (known: PackageIdentity) =>
      known.name === own.name && compareSystemVersions(known.version, own.version) >= 0;
    const other = older.find((one) =>
      releaseFiles(one).some(({ packageIdentity: known }) => known && isReached(known)),
    );
    if (!other) continue;
    return `The version of a package must increase: App Installer would not update ${other.id} to ${fileName}, whose version is ${own.version}. Package it with a higher fourth number.`;
  }
  return undefined;
}

function canUpdateTo(older: Release, newer: Release): boolean {
  const isSameApp = older.product === newer.product && older.platform === newer.platform;
  const isVisible = newer.channel === "stable" || older.channel === newer.channel;
  const runs = shareComputers(older.architecture, newer.architecture);
  return isSameApp && isVisible && runs && older.version.compare(newer.version) < 0;
}

/** The version that Sparkle compares; it does not read past a dash. */
function buildVersionOf({ buildVersion, version: { major, minor, patch } }: Release): string {
  return buildVersion ?? `${major}.${minor}.${patch}`;
}

/** The first release of a catalog may be of any product. */
function unknownValue(release: Release, others: readonly Release[]): string | undefined {
  for (const name of ["product", "architecture", "channel"] as const) {
    if (name === "product" && others.length === 0) continue;
    const known = new Set([...BUILT_IN_VALUES[name], ...others.map((other) => other[name])]);
    if (known.has(release[name])) continue;
    return `The catalog has no ${name} "${release[name]}", only ${[...known].join(", ")}. ${name === "channel" ? "Choose one with --channel, or confirm" : "Confirm"} a new one with --new.`;
  }
  return undefined;
}

/** Installed apps reject signatures of another key. The key id is no proof, but reveals a mistake. */
function unknownSigningKey(release: Release, others: readonly Release[]): string | undefined {
  const known = new Set(others.filter(({ product }) => product === release.product).flatMap(keyIdsOf));
  const unknown = keyIdsOf(release).find((keyId) => known.size > 0 && !known.has(keyId));
  return (
    unknown &&
    `The minisign signature is by the key ${unknown}, but ${release.product}'s releases are signed by ${[...known].join(", ")}: installed apps would reject it. Confirm a new key with --new.`
  );
}

function keyIdsOf(release: Release): string[] {
  return releaseFiles(release).flatMap(({ minisign }) =>
    minisign === undefined ? [] : parseMinisignature(minisign).keyId,
  );
}

/** A release that requires itself could never be installed as an update. */
export function wrongRequirement({ requiresFrom, version }: Release): string | undefined {
  if (requiresFrom === null || requiresFrom.compare(version) < 0) return undefined;
  return `The required version ${formatVersion(requiresFrom)} must be older than the release, ${formatVersion(version)}.`;
}

/** Refuses a release with packages that no feed would name, so that no app finds it. Its rollout may start later. */
export function assertOffered(release: Release, releases: readonly Release[]): void {
  const full = releaseFiles(release).filter(({ fileName }) => fileName.endsWith("-full.nupkg"));
  if (full.length === 0) return;
  const reachable = { ...release, rollout: 100, requiresFrom: null };
  const all = releases.map((one) => (one.id === release.id ? reachable : one));
  const snapshot = indexReleases("/", all);
  const { product, channel, platform, architecture } = release;
  const asked = { snapshot, product, channel, clientId: undefined, current: undefined };
  // A client sends its system's architecture.
  const query = { arch: architecture === "universal" ? undefined : architecture, os: VELOPACK_SYSTEMS[platform] };
  for (const { fileName } of full) {
    const isSquirrel = platform === "windows" && squirrelPackageId(fileName, release.version, "full") !== null;
    if (isSquirrel && COMMON_BUILDS.windows.includes(architecture)) continue; // RELEASES names it
    const own = parseVelopackName(fileName, release.version, "full");
    const name = own?.channel ?? VELOPACK_SYSTEMS[platform];
    const found = own ? findVelopackReleases({ ...asked, query }, name) : [];
    const lists = found.flatMap(({ selector }) => candidateLists(snapshot, selector));
    if (lists.some((list) => list.includes(reachable))) continue;
    const feed = own ? `releases.${name}.json` : "RELEASES";
    throw invalidRelease(
      `Apps with ${fileName} request ${feed}, which would never name a release of the channel ${channel} for ${platform} ${architecture}: choose another --channel or --arch, or build it with the channel ${VELOPACK_SYSTEMS[platform]}.`,
    );
  }
}

/**
 * Refuses signed documents that would lead clients astray, and a new release without one. `before`: the release as it was.
 * @throws AppError
 */
export function assertSignedDocuments(
  { before, release }: { before: Release | undefined; release: Release },
  releases: readonly Release[],
  { isNew, isUnsigned }: Confirmations,
): void {
  const updater = isUnsigned ? undefined : findUnsignedUpdater({ before, release }, releases);
  if (updater) {
    throw invalidRelease(
      `Apps of ${release.product} may require signed documents, as its newest release has one for ${UPDATER_NAMES[updater]}: sign one for ${formatVersion(release.version)}, or confirm with --unsigned.`,
    );
  }
  refuse(wrongManifest(release, releases));
  if (before && before.signedDocuments.sparkle === release.signedDocuments.sparkle) return;
  refuse(wrongAppcast(release, releases));
  if (!isNew) refuse(foreignBundle(release, releases), "confirmation_required");
}

function wrongAppcast(release: Release, releases: readonly Release[]): string | undefined {
  const document = release.signedDocuments.sparkle;
  const own = document ? ownItem(document, release) : undefined;
  if (!own) return undefined;
  const version = withheldAppcasts(releases).get(release);
  if (version !== undefined) {
    return `The appcast also offers ${version}, which is yanked, paused, partly rolled out or on another channel: sign one without it.`;
  }
  const { item, file } = own;
  const pathOf = ({ product, channel }: Release) =>
    `/api/updates/${product}/${channel}/${storedFilePath(release, file)}`;
  // A promoted build keeps the appcast of the channel that it comes from.
  const channels = releases.filter((one) => releaseFiles(one).some(({ sha256 }) => sha256 === file.sha256));
  const url = item.url ?? "";
  if (url === file.url || channels.some((one) => endsWithPath(url, pathOf(one)))) return undefined;
  return `The URL in the appcast does not lead to ${file.fileName}: homeport release urls prints the one to sign. It ends with ${pathOf(release)}.`;
}

function endsWithPath(url: string, path: string): boolean {
  try {
    return decodeURIComponent(new URL(url).pathname).endsWith(decodeURIComponent(path));
  } catch {
    return false;
  }
}

function wrongManifest(release: Release, releases: readonly Release[]): string | undefined {
  if (!release.signedDocuments.electron) return undefined;
  try {
    namedBuilds(indexReleases(null, releases), release, release.channel);
    return undefined;
  } catch (error) {
    return `Apps could not follow the signed manifest of ${release.id}: ${(error as Error).message}.`;
  }
}

/** One team may sign several apps with one key, and Sparkle 2.11 compares their identifiers. */
function foreignBundle(release: Release, releases: readonly Release[]): string | undefined {
  const bundleOf = ({ signedDocuments: { sparkle } }: Release) =>
    appcastItems(sparkle ?? "").find(({ bundleIdentifier }) => bundleIdentifier)?.bundleIdentifier;
  const bundle = bundleOf(release);
  const others = releases.filter(({ id, product }) => id !== release.id && product === release.product);
  const known = bundle && others.map(bundleOf).find((other) => other !== undefined && other !== bundle);
  return (
    known &&
    `The appcast is for the app ${bundle}, but ${release.product}'s apps are ${known}. Confirm another one with --new.`
  );
}
