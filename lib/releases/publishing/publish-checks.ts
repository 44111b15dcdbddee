import { SemVer } from "semver";
import { AppError } from "../../errors";
import { BUILT_IN_VALUES, indexReleases } from "../catalog/snapshot";
import { COMMON_BUILDS, compareSystemVersions, type Platform, shareComputers, VELOPACK_SYSTEMS } from "../platforms";
import { releaseFiles } from "../release-files";
import { isSampleSignature } from "../sample/sample-signatures";
import { formatVersion, type Release } from "../schema";
import { candidateLists } from "../selection/select-release";
import { parseMinisignature } from "../signatures";
import {
  parseVelopackName,
  separateNumber,
  squirrelPackageId,
  squirrelVersion,
  velopackPackageId,
} from "../updates/nupkg";
import { findVelopackReleases } from "../updates/velopack-releases";
import { assertPackageFitsRelease } from "./files/package-facts";
import type { Confirmations } from "./schema";

/** File extensions by the only platform that can use them. */
const PLATFORM_FILES: readonly [RegExp, Platform][] = [
  [/\.(exe|msi|msix|msixbundle|appx|appxbundle)$/i, "windows"],
  [/\.(dmg|pkg|mpkg|aar|app\.tar\.gz|app\.zip)$/i, "macos"],
  [/\.(deb|rpm|appimage|pacman|snap|flatpak)$/i, "linux"],
];

/**
 * Rejects a release that the service could serve but that is likely to be a mistake.
 * @throws AppError; confirmation_required if `isNew` permits it
 */
export function assertPublishable(release: Release, others: readonly Release[], confirmations: Confirmations): void {
  assertNoSample(release);
  assertRequiredVersion(release);
  assertFilesFitPlatform(release);
  assertPackagesNamed(release);
  assertPackageFitsRelease(release);
  assertDeltasFromOlderVersions(release);
  assertPrereleaseChannel(release, confirmations);
  assertVersionOrder(release, others);
  assertBuildVersionIncreases(release, others);
  if (confirmations.isNew) return;
  assertKnownValues(release, others);
  assertSameSigningKey(release, others);
}

/** Anyone can sign with the samples' key, so the service would treat the release as a sample. */
function assertNoSample(release: Release): void {
  if (release.sample)
    throw new AppError("release_invalid", "A release cannot be published as a sample: leave the field sample out.");
  if (!releaseFiles(release).some(({ minisign }) => isSampleSignature(minisign))) return;
  throw new AppError(
    "signature_invalid",
    "The minisign signature is by the key of the sample releases, which anyone can use: sign the file with your own key.",
  );
}

function assertFilesFitPlatform(release: Release): void {
  const { platform } = release;
  for (const { fileName } of releaseFiles(release)) {
    const [, filePlatform] = PLATFORM_FILES.find(([pattern]) => pattern.test(fileName)) ?? [];
    if (filePlatform === undefined || filePlatform === platform) continue;
    throw new AppError("release_invalid", `${fileName} is not a file for ${platform}.`);
  }
}

/** Squirrel.Windows reads the version from the file name, and Velopack's clients would install another one. */
function assertPackagesNamed(release: Release): void {
  const { version } = release;
  const deltas = new Set<unknown>(release.artifacts.deltas);
  for (const file of releaseFiles(release)) {
    if (!/\.nupkg$/i.test(file.fileName)) continue;
    const kind = deltas.has(file) ? "delta" : "full";
    if (squirrelPackageId(file.fileName, version, kind) ?? velopackPackageId(file.fileName, version, kind)) continue;
    throw new AppError(
      "release_invalid",
      `${file.fileName} is not the name of a ${kind} package of version ${formatVersion(version)}, such as Acme-${squirrelVersion(version)}-${kind}.nupkg.`,
    );
  }
}

function assertDeltasFromOlderVersions({ version, artifacts }: Release): void {
  const delta = artifacts.deltas.find(({ from }) => from.compare(version) >= 0);
  if (!delta) return;
  throw new AppError(
    "release_invalid",
    `${delta.fileName} is a delta from ${formatVersion(delta.from)}, which is not older than ${formatVersion(version)}.`,
  );
}

function assertPrereleaseChannel({ channel, version }: Release, { isPrerelease }: Confirmations): void {
  if (channel !== "stable" || version.prerelease.length === 0 || isPrerelease) return;
  throw new AppError(
    "release_invalid",
    `${formatVersion(version)} is a prerelease and would be offered to every client: choose its channel (--channel beta), or confirm with --prerelease.`,
  );
}

/**
 * SemVer compares `beta10` and `beta9` as texts, so that the tenth one reaches nobody. @throws AppError if the
 * numbers say another order than SemVer
 */
function assertVersionOrder(release: Release, others: readonly Release[]): void {
  const { version } = release;
  if (version.prerelease.length === 0) return;
  const isSameSeries = (other: Release) =>
    (["product", "platform", "channel"] as const).every((name) => other[name] === release[name]);
  const series = others.filter((other) => isSameSeries(other) && !other.yanked);
  if (series.some((other) => other.version.compare(version) === 0)) return; // another build, or more files
  const other = series.find(
    (one) => one.version.compare(version) !== withNumbers(one.version).compare(withNumbers(version)),
  );
  if (!other) return;
  const [own, before] = [formatVersion(version), formatVersion(other.version)];
  const place = version.compare(other.version) < 0 ? "below" : "above";
  throw new AppError(
    "release_invalid",
    `${own} sorts ${place} ${before}, so it would be offered to the wrong clients: SemVer reads a number only after a dot. Write ${formatVersion(withNumbers(version))}, and yank ${before} if it is written differently.`,
  );
}

/** `1.2.0-beta10` as `1.2.0-beta.10`. */
function withNumbers({ major, minor, patch, prerelease, build }: SemVer): SemVer {
  const words = prerelease.map((word) => separateNumber(String(word)));
  const suffix = build.length > 0 ? `+${build.join(".")}` : "";
  return new SemVer(`${major}.${minor}.${patch}${words.length > 0 ? `-${words.join(".")}` : ""}${suffix}`);
}

/** Sparkle offers only releases whose build version is higher than the installed one. */
export function assertBuildVersionIncreases(release: Release, others: readonly Release[]): void {
  const higher = others.find((other) => {
    if (other.yanked || !canUpdateTo(other, release) || (!other.buildVersion && !release.buildVersion)) return false;
    return compareSystemVersions(buildVersionOf(other), buildVersionOf(release)) >= 0;
  });
  if (!higher) return;
  throw new AppError(
    "release_invalid",
    `The build version must increase: ${higher.id} has ${buildVersionOf(higher)}, and Sparkle would not update it to ${buildVersionOf(release)}. Set a higher one with --build-version.`,
  );
}

/** Whether a client with `older` can be offered `newer`. */
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
function assertKnownValues(release: Release, others: readonly Release[]): void {
  for (const name of ["product", "architecture", "channel"] as const) {
    if (name === "product" && others.length === 0) continue;
    const known = new Set([...BUILT_IN_VALUES[name], ...others.map((other) => other[name])]);
    if (known.has(release[name])) continue;
    throw new AppError(
      "confirmation_required",
      `The catalog has no ${name} "${release[name]}", only ${[...known].join(", ")}. ${name === "channel" ? "Choose one with --channel, or confirm" : "Confirm"} a new one with --new.`,
    );
  }
}

/** Installed apps reject signatures of another key. The key id is no proof, but reveals a mistake. */
function assertSameSigningKey(release: Release, others: readonly Release[]): void {
  const known = new Set(others.filter(({ product }) => product === release.product).flatMap(keyIdsOf));
  const unknown = keyIdsOf(release).find((keyId) => known.size > 0 && !known.has(keyId));
  if (unknown === undefined) return;
  throw new AppError(
    "confirmation_required",
    `The minisign signature is by the key ${unknown}, but ${release.product}'s releases are signed by ${[...known].join(", ")}: installed apps would reject it. Confirm a new key with --new.`,
  );
}

function keyIdsOf(release: Release): string[] {
  return releaseFiles(release).flatMap(({ minisign }) =>
    minisign === undefined ? [] : parseMinisignature(minisign).keyId,
  );
}

/** A release that requires itself could never be installed as an update. */
export function assertRequiredVersion({ requiresFrom, version }: Release): void {
  if (requiresFrom === null || requiresFrom.compare(version) < 0) return;
  throw new AppError(
    "release_invalid",
    `The required version ${formatVersion(requiresFrom)} must be older than the release, ${formatVersion(version)}.`,
  );
}

/**
 * Computes the feeds that the clients of packages will request, and refuses a release that none of them can name: no
 * app would find it. The rollout does not count, since it may start later.
 * @throws AppError
 */
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
    throw new AppError(
      "release_invalid",
      `Apps with ${fileName} request ${feed}, which would never name a release of the channel ${channel} for ${platform} ${architecture}: choose another --channel or --arch, or build it with the channel ${VELOPACK_SYSTEMS[platform]}.`,
    );
  }
}
