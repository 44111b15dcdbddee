import { appcastProblem } from "../formats/signed-appcast";
import type { Release } from "../schema";
import type { PublicKeys } from "../signatures";

export type SignedUpdater = keyof Release["signedDocuments"];

/** Why each updater would refuse a document that the publisher signed, or the release in it, for people. */
const PROBLEMS: Readonly<
  Partial<Record<SignedUpdater, (document: string, release: Release, keys: PublicKeys) => string | undefined>>
> = { sparkle: appcastProblem };

export type DocumentProblem = { updater: SignedUpdater; problem: string };

/** Verifies the signed documents of a release with its product's keys. */
export function verifySignedDocuments(release: Release, keys: PublicKeys): DocumentProblem[] {
  return Object.entries(release.signedDocuments).flatMap(([name, document]) => {
    const updater = name as SignedUpdater;
    const problem = document ? PROBLEMS[updater]?.(document, release, keys) : undefined;
    return problem === undefined ? [] : { updater, problem };
  });
}
