import cluster, { type Worker } from "node:cluster";

/**
 * From the supervisor, which may be of an earlier build: the fields keep their names. `isFirst`: no other process has been
 * the leader since the supervisor's start.
 */
type LeaderMessage = { isAppointed: true; isFirst: boolean };

/** Whether this is one of the processes of WEB_CONCURRENCY. */
export const isOneOfSeveral = (): boolean => cluster.isWorker;

/** Calls `run` when this process becomes the leader: at once if it is the only one, else when the supervisor says so. */
export function onBecomeLeader(run: (isFirst: boolean) => void): void {
  if (!cluster.isWorker) run(true);
  else
    process.on("message", (message: Partial<LeaderMessage>) => message?.isAppointed && run(message.isFirst === true));
}

/** Makes a process the leader, which does what one process alone does. */
export function makeLeader(worker: Worker, isFirst: boolean): void {
  const message: LeaderMessage = { isAppointed: true, isFirst };
  worker.send(message, () => {}); // one that has just ended is replaced
}
