import { BUILT_IN_VALUES } from "../../releases/catalog/snapshot";
import { ArtifactKind, formatVersion, type Platform, type Release } from "../../releases/schema";
import { parseMinisignature } from "../../releases/signatures";
import { compareSystemVersions } from "../../releases/system-version";
import { PublishingError } from "./manifest-file";

/** What somebody said that they mean, though it looks like a mistake. */
export type Confirmations = {
  /** A product, an architecture, a channel or a key that the catalog does not have yet. */
  isNew?: boolean | undefined;
  /** A prerelease for everybody. */
  isPrerelease?: boolean | undefined;
};

/** Whoever publishes may say that this is what they mean. */
export class ConfirmationRequiredError extends PublishingError {}

const FOREIGN_FILES: readonly [RegExp, Platform | null][] = [
  [/\.(exe|msi|msix|msixbundle|appx|appxbundle|nupkg)$/i, "windows"],
  [/\.(dmg|pkg|mpkg|aar|app\.tar\.gz|app\.zip)$/i, "macos"],
  [/\.(deb|rpm|appimage|snap|flatpak)$/i, null],
];

/**
 * Refuses what the service would serve, and what is a mistake all the same.
 * @throws PublishingError; UnconfirmedError for what `isNew` allows.
 */
export function assertPublishable(release: Release, others: readonly Release[], allowed: Confirmations): void {
  requireFiles(release);
  requireChannel(release, allowed);
  requireRisingBuild(release, others);
  if (allowed.isNew) return;
  requireKnown(release, others);
  requireSameKey(release, others);
}

function requireFiles({ platform, artifacts }: Release): void {
  for (const kind of ArtifactKind.options) {
    const fileName = artifacts[kind]?.fileName ?? "";
    const [, meantFor] = FOREIGN_FILES.find(([pattern]) => pattern.test(fileName)) ?? [];
    if (meantFor === undefined || meantFor === platform) continue;
    throw new PublishingError(`${fileName} is not a file for ${platform}.`);
  }
}

function requireChannel({ channel, version }: Release, { isPrerelease }: Confirmations): void {
  if (channel !== "stable" || version.prerelease.length === 0 || isPrerelease) return;
  const name = formatVersion(version);
  throw new PublishingError(
    `${name} is a prerelease, and would be offered to everybody: name its channel (--channel beta), or say --prerelease.`,
  );
}

/** Sparkle offers nothing whose build version is not above the installed one's. */
function requireRisingBuild(release: Release, others: readonly Release[]): void {
  const higher = others.find((other) => {
    if (other.yanked || !isBefore(other, release) || (!other.buildVersion && !release.buildVersion)) return false;
    return compareSystemVersions(buildOf(other), buildOf(release)) >= 0;
  });
  if (!higher) return;
  throw new PublishingError(
    `The build version has to rise: ${higher.id} has ${buildOf(higher)}, and Sparkle would never go from it to ${buildOf(release)}. Give a higher one with --build-version.`,
  );
}

/** Whether somebody who has `older` may be offered `newer`. */
function isBefore(older: Release, newer: Release): boolean {
  const isHere = older.product === newer.product && older.platform === newer.platform;
  const isSeen = newer.channel === "stable" || older.channel === newer.channel;
  const architectures = new Set([older.architecture, newer.architecture]);
  return (
    isHere &&
    isSeen &&
    (architectures.size === 1 || architectures.has("universal")) &&
    older.version.compare(newer.version) < 0
  );
}

/** What Sparkle compares, which does not read past a dash. */
function buildOf({ buildVersion, version: { major, minor, patch } }: Release): string {
  return buildVersion ?? `${major}.${minor}.${patch}`;
}

/** The first release of a catalog may be of any product. */
function requireKnown(release: Release, others: readonly Release[]): void {
  for (const name of ["product", "architecture", "channel"] as const) {
    if (name === "product" && others.length === 0) continue;
    const known = new Set([...BUILT_IN_VALUES[name], ...others.map((other) => other[name])]);
    if (known.has(release[name])) continue;
    const list = [...known].join(", ");
    throw new ConfirmationRequiredError(
      `There is no ${name} "${release[name]}" yet, but ${list}. Say --new if you mean a new one.`,
    );
  }
}

/** Installed apps refuse another key's signature. It proves nothing, but the key id tells a mistake. */
function requireSameKey(release: Release, others: readonly Release[]): void {
  const used = new Set(others.filter(({ product }) => product === release.product).flatMap(keyIdsOf));
  const other = keyIdsOf(release).find((keyId) => used.size > 0 && !used.has(keyId));
  if (other === undefined) return;
  throw new ConfirmationRequiredError(
    `The minisign signature is by the key ${other}, and ${release.product}'s releases are signed by ${[...used].join(", ")}: installed apps would refuse it. Say --new if it is a new key.`,
  );
}

function keyIdsOf({ artifacts }: Release): string[] {
  return ArtifactKind.options.flatMap((kind) => {
    const minisign = artifacts[kind]?.minisign;
    return minisign === undefined ? [] : parseMinisignature(minisign).keyId;
  });
}
