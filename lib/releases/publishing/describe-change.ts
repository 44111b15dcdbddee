import type { ReleaseAccess } from "../../principal";
import { isAccessible } from "../access";
import { findUnsignedUpdater } from "../catalog/signed-documents";
import { withheldAppcasts } from "../formats/signed-appcast";
import { unsignedVersionNotes } from "../formats/tauri";
import { type Release, UPDATER_NAMES } from "../schema";

/** What a change does to clients whose updaters verify more than files, for people. Tells only of accessible releases. */
export function describeChange(
  before: readonly Release[],
  after: readonly Release[],
  access: ReleaseAccess | undefined,
): string[] {
  const rollbacks = new Set(before.flatMap(({ id, rollback }) => (rollback ? id : [])));
  const isOffered = (release: Release) => !release.yanked && release.rollout > 0 && isAccessible(access, release);
  const withheldBefore = new Set([...withheldAppcasts(before).keys()].filter(isOffered).map(({ id }) => id));
  const withheld = [...withheldAppcasts(after)].filter(([one]) => isOffered(one) && !withheldBefore.has(one.id));
  const rolledBack = after.filter(
    (release) => release.rollback && !rollbacks.has(release.id) && isAccessible(access, release),
  );
  return [
    ...withheld.map(
      ([{ id }, version]) =>
        `${id} is not offered to Sparkle any more: its signed appcast also offers ${version}. Sign one without ${version} and add it with --appcast.`,
    ),
    ...rolledBack.flatMap(unsignedVersionNotes),
    ...rolledBack.flatMap((release) => {
      const updater = findUnsignedUpdater({ before: undefined, release }, after);
      return updater
        ? `${release.id} has no signed document for ${UPDATER_NAMES[updater]}: apps that require one will refuse it.`
        : [];
    }),
  ];
}
