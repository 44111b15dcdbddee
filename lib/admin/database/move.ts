import { type Operator, recordOperatorEvent } from "../../audit/operator-events";
import type { Context } from "../../context";
import { stopCapture } from "../../db/move/capture";
import { embeddedSource } from "../../db/move/embedded";
import { moveDatabase } from "../../db/move/move";
import { AppError } from "../../errors";
import type { DatabaseMove, NewDatabaseMove } from "./schema";

type Deps = Pick<Context, "adoption" | "config" | "database" | "db" | "log" | "now" | "updateReports">;
type Job = { status: DatabaseMove; ended: Promise<void>; controller: AbortController; renew: () => void };

/** A move ends if nobody has asked for its status for so long: the command was killed. */
const LEASE_MS = 20_000;
const NONE: DatabaseMove = { state: "none", to: null, step: null, share: 0, result: null, error: null };

/** The move of each database in this process. */
const jobs = new WeakMap<Context["database"], Job>();

/**
 * Starts to move the embedded database to PostgreSQL, in the background. While one is running or after it, returns its
 * status. Whoever starts it reads the status, or it ends.
 * @throws AppError forbidden if the service uses PostgreSQL
 */
export async function startMove(deps: Deps, operator: Operator, { to }: NewDatabaseMove): Promise<DatabaseMove> {
  requireEmbedded(deps);
  const running = jobs.get(deps.database);
  if (running?.status.state === "running" || running?.status.state === "moved") return readMove(deps);
  const { nameOf } = await import("../../db/move/server");
  const event = { type: "database_moved", target: `database:${nameOf(to)}` } as const;
  await recordOperatorEvent(deps.db, deps.now(), operator, event);
  const controller = new AbortController();
  const end = () => controller.abort(new Error("The command has ended. Repeat it to continue."));
  const lease = setTimeout(end, LEASE_MS).unref();
  const job: Job = {
    status: { ...NONE, state: "running", to: nameOf(to), step: "copying" },
    ended: Promise.resolve(),
    controller,
    renew: () => void lease.refresh(),
  };
  jobs.set(deps.database, job);
  job.ended = run(deps, job, to).finally(() => clearTimeout(lease));
  return job.status;
}

/** How far the move is. Keeps it running. */
export function readMove({ database }: Pick<Context, "database">): DatabaseMove {
  const job = jobs.get(database);
  if (job?.status.state === "running") job.renew();
  return job?.status ?? NONE;
}

/** Ends the move, forgets how far it was, and lets the service write again after one that was complete. */
export async function cancelMove(deps: Deps, operator: Operator): Promise<DatabaseMove> {
  const embedded = requireEmbedded(deps);
  const job = jobs.get(deps.database);
  job?.controller.abort(new Error("The move was canceled."));
  await job?.ended;
  jobs.delete(deps.database);
  await embedded.reinstate();
  await stopCapture(embedded.copySession);
  await recordOperatorEvent(deps.db, deps.now(), operator, { type: "database_move_canceled", target: "database" });
  return NONE;
}

async function run(deps: Deps, job: Job, to: string): Promise<void> {
  const { config, log } = deps;
  try {
    const source = embeddedSource(config.DATA_DIR, requireEmbedded(deps));
    const { openServerTarget } = await import("../../db/move/server");
    const target = await openServerTarget(to);
    const { signal } = job.controller;
    signal.addEventListener("abort", () => void target.close()); // ends a statement that does not respond
    const result = await moveDatabase(source, target, {
      signal,
      onProgress: ({ step, share }) => Object.assign(job.status, { step, share }),
      beforePause: () => Promise.all([deps.adoption.flush(), deps.updateReports.flush()]),
    }).finally(target.close);
    Object.assign(job.status, { state: "moved", share: 1, result });
    log.info({ to: target.name, ...result }, "the database has moved: restart with DATABASE_URL");
  } catch (error) {
    const { code = "move_failed", message } = causeOf(error, job);
    Object.assign(job.status, { state: "failed", error: { code, message } });
    log.warn({ err: error }, "the database was not moved: the service continues with the embedded database");
  }
}

/** Why a move ended: a target that was closed reports a lost connection. */
function causeOf(error: unknown, { controller: { signal } }: Job) {
  return (signal.aborted ? signal.reason : error) as Error & { code?: string };
}

function requireEmbedded({ database }: Pick<Context, "database">) {
  if (database.embedded) return database.embedded;
  throw new AppError("forbidden", { detail: "The service uses PostgreSQL: the command moves it by itself." });
}
