import { compareBuild } from "semver";
import { appcastProblem } from "../formats/signed-appcast";
import { sparkle } from "../formats/sparkle";
import type { Release } from "../schema";
import type { ArtifactSelector } from "../selection/select-release";
import type { PublicKeys } from "../signatures";

type SignedUpdater = keyof Release["signedDocuments"];

type UpdaterRules = {
  /** Why the updater would refuse a document, or the release in it, for people. */
  problem: (document: string, release: Release, keys: PublicKeys) => string | undefined;
  selectArtifact: ArtifactSelector;
};

const UPDATERS: Readonly<Partial<Record<SignedUpdater, UpdaterRules>>> = {
  sparkle: { problem: appcastProblem, selectArtifact: sparkle.selectArtifact },
};

export type DocumentProblem = { updater: SignedUpdater; problem: string };

/** Verifies the signed documents of a release with its product's keys. */
export function verifySignedDocuments(release: Release, keys: PublicKeys): DocumentProblem[] {
  return Object.entries(release.signedDocuments).flatMap(([name, document]) => {
    const updater = name as SignedUpdater;
    const problem = document ? UPDATERS[updater]?.problem(document, release, keys) : undefined;
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
  const found = Object.entries(UPDATERS).find(([name, { selectArtifact }]) => {
    const updater = name as SignedUpdater;
    const isNewlyOffered = selectArtifact(release) && !(before && selectArtifact(before));
    return isNewlyOffered && !release.signedDocuments[updater] && others.find(selectArtifact)?.signedDocuments[updater];
  });
  return found?.[0] as SignedUpdater | undefined;
}
