import { loadConfig } from "../../../lib/platform/config";
import type { Source } from "../../../lib/platform/db/move/move";
import type { MoveTarget } from "../../../lib/platform/db/move/target";
import type { Databases, OnProgress } from "./db-next-steps";

/** What a command does with a move needs most of lib/platform/db: it is loaded by the commands that move. */
const loadMove = async () => ({
  ...(await import("../../../lib/platform/db/move/move")),
  ...(await import("../../../lib/platform/db/move/capture")),
  ...(await import("../../../lib/platform/db/move/server")),
  ...(await import("../../../lib/platform/db/move/embedded")),
  ...(await import("../../../lib/platform/db/move/target")),
});

/** Moves a PostgreSQL database, from this process. @throws MoveError, Error */
export async function moveServer({ from, to, dataDir }: Databases & { from: string }, onProgress: OnProgress) {
  const { moveDatabase, openServerSource } = await loadMove();
  const source = await openServerSource(from);
  try {
    const target = await openTarget({ to, dataDir });
    const hooks = { onProgress, signal: new AbortController().signal, beforePause: async () => {} };
    const result = await moveDatabase(source, target, hooks).finally(target.close);
    return { from: source.name, to: target.name, ...result };
  } finally {
    await source.close();
  }
}

/** Forgets the move of a PostgreSQL database, and lets it accept writes again. */
export async function cancelServer(from: string): Promise<void> {
  const { acceptWrites, openServerSource, stopCapture } = await loadMove();
  const { session, close } = await openServerSource(from);
  await acceptWrites(session)
    .then(() => stopCapture(session))
    .finally(close);
}

/** Checks the databases of a move as far as nothing has to be created. @throws MoveError */
export async function checkMove({ from, to, dataDir }: Databases) {
  const { inspectTarget, openServerSource, openServerTarget } = await loadMove();
  const source: (Pick<Source, "name"> & { close: () => Promise<void> }) | null = from
    ? await openServerSource(from)
    : null;
  try {
    const target: Pick<MoveTarget, "name" | "session" | "close"> | null = to ? await openServerTarget(to) : null;
    const state = target && (await inspectTarget(target).finally(target.close));
    return { from: source?.name ?? dataDir, to: target?.name ?? dataDir, isContinued: state === "unfinished" };
  } finally {
    await source?.close();
  }
}

async function openTarget({ to, dataDir }: Pick<Databases, "to" | "dataDir">): Promise<MoveTarget> {
  const { openEmbeddedTarget, openServerTarget } = await loadMove();
  return to ? openServerTarget(to) : openEmbeddedTarget(dataDir, loadConfig().DATABASE_SYNC === "on");
}
