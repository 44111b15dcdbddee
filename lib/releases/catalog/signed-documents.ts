import { compareBuild } from "semver";
import { electron } from "../formats/electron";
import { appcastProblem } from "../formats/signed-appcast";
import { sparkle } from "../formats/sparkle";
import { type Release, SignedUpdater } from "../schema";
import type { ArtifactSelector } from "../selection/select-release";
import type { PublicKeys } from "../signatures";
import { updateManifestProblem } from "../update-manifest";

/** What each updater that reads signed documents can install. */
const SELECTORS: Readonly<Record<SignedUpdater, ArtifactSelector>> = {
  electron: electron.selectArtifact,
  sparkle: sparkle.selectArtifact,
};

/** Why an updater would refuse a document, or the release in it, for people. */
export type DocumentProblem = { updater: SignedUpdater; problem: string };

/** Verifies the signed documents of a release with its product's keys. */
export function verifySignedDocuments(release: Release, keys: PublicKeys): DocumentProblem[] {
  const { electron: manifest, sparkle: appcast } = release.signedDocuments;
  const problems: Record<SignedUpdater, string | undefined> = {
    electron: manifest ? updateManifestProblem(manifest, release, keys) : undefined,
    sparkle: appcast ? appcastProblem(appcast, release, keys) : undefined,
  };
  return SignedUpdater.options.flatMap((updater) => {
    const problem = problems[updater];
    return problem === undefined ? [] : { updater, problem };
  });
}

/**
 * The updater that is offered a release without a signed document, although the newest other release for its clients has one.
 * Not one that was offered the release `before`.
 */
export function findUnsignedUpdater(
  { before, release }: { before: Release | undefined; release: Release },
  releases: readonly Release[],
): SignedUpdater | undefined {
  const isSameApp = ({ id, product, platform }: Release) =>
    id !== release.id && product === release.product && platform === release.platform;
  const others = releases.filter(isSameApp).sort((a, b) => compareBuild(b.version, a.version));
  for (const updater of SignedUpdater.options) {
    const selectArtifact = SELECTORS[updater];
    if (release.signedDocuments[updater] || !selectArtifact(release) || (before && selectArtifact(before))) continue;
    // The other builds of one publication are as unsigned as this one.
    const isBefore = (other: Release) => other.signedDocuments[updater] || compareBuild(other.version, release.version);
    const newest = others.find((other) => selectArtifact(other) && isBefore(other));
    if (newest?.signedDocuments[updater]) return updater;
  }
  return undefined;
}
