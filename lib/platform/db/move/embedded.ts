import type { Embedded } from "../embedded/open";
import type { Source } from "./move";
import { findMove, type MoveTarget } from "./target";

/** The embedded database of this process as the source. While it is copied, the service uses it. */
export function embeddedSource(dataDir: string, embedded: Embedded): Source {
  return {
    name: dataDir,
    session: embedded.copySession,
    openSnapshot: embedded.openSnapshot,
    pause: embedded.openSnapshot,
    retire: embedded.retire,
    reinstate: embedded.reinstate,
  };
}

/**
 * Opens the embedded database of a folder as the target, and creates it if it is missing.
 * @throws DataDirInUseError, DataMovedError
 */
export async function openEmbeddedTarget(dataDir: string, isSynced: boolean): Promise<MoveTarget> {
  const { openEmbedded } = await import("../embedded/open");
  const { copySession, migrate, close } = await openEmbedded(dataDir, isSynced, { isMigrated: true });
  const isUnfinished = async () => (await findMove(copySession)) !== null;
  return { name: dataDir, session: copySession, migrate: () => migrate(), isUnfinished, close };
}
