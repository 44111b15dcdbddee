import cluster, { type Worker } from "node:cluster";

/** `isFirst`: no other process has had the tasks since the start of the supervisor. */
type Appointment = { isAppointed: true; isFirst: boolean };

/** Whether this is one of the processes of WEB_CONCURRENCY. */
export const isOneOfSeveral = (): boolean => cluster.isWorker;

/** Calls `run` when this process is to do what one process alone does: at once, or when the supervisor appoints it. */
export function onAppointed(run: (isFirst: boolean) => void): void {
  if (!cluster.isWorker) run(true);
  else process.on("message", (message: Partial<Appointment>) => message?.isAppointed && run(message.isFirst === true));
}

/** Lets a process do what one process alone does. */
export function appoint(worker: Worker, isFirst: boolean): void {
  const message: Appointment = { isAppointed: true, isFirst };
  worker.send(message, () => {}); // one that has just ended is replaced
}
