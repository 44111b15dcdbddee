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

/** The updater that a release has no signed document for, although the newest other one for its clients has. */
export function findUnsignedUpdater(release: Release, releases: readonly Release[]): SignedUpdater | undefined {
  const others = releases
    .filter(
      ({ id, product, platform }) => id !== release.id && product === release.product && platform === release.platform,
    )
    .sort((a, b) => compareBuild(b.version, a.version));
  for (const [name, { selectArtifact }] of Object.entries(UPDATERS)) {
    const updater = name as SignedUpdater;
    const newest = others.find(selectArtifact);
    if (newest?.signedDocuments[updater] && !release.signedDocuments[updater] && selectArtifact(release))
      return updater;
  }
  return undefined;
}
