import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Operator } from "../../principal";
import { recordOperatorEvent } from "../audit/operator-events";
import { postgresUrl } from "../config/database";
import { findCapture, stopCapture } from "../db/move/capture";
import { embeddedSource } from "../db/move/embedded";
import { moveDatabase } from "../db/move/move";
import type { MoveTarget } from "../db/move/target";

export const NewDatabaseMove = z.strictObject({
  to: postgresUrl.describe("The URL of the PostgreSQL database. It has to be empty."),
});
export type NewDatabaseMove = z.infer<typeof NewDatabaseMove>;

const Result = z.object({
  rows: z.int().min(0),
  tables: z.int().min(0),
  resumedTables: z.int().min(0).describe("Tables that an interrupted move had copied."),
  pausedMs: z.number().min(0).describe("How long writes waited for the last changes."),
});

export const DatabaseMove = z.object({
  state: z.enum(["none", "running", "moved", "failed"]),
  to: z.string().nullable().describe("The new database, without its password."),
  step: z.enum(["copying", "indexing", "finishing"]).nullable(),
  share: z.number().min(0).max(1).describe("The share of the step that is done."),
  result: Result.nullable().describe("What was moved, in the state `moved`."),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("Why the move ended, in the state `failed`."),
});
export type DatabaseMove = z.infer<typeof DatabaseMove>;

type Deps = Pick<Context, "adoption" | "config" | "database" | "db" | "log" | "now" | "updateReports">;
type Job = { status: DatabaseMove; ended: Promise<void>; controller: AbortController; lease: NodeJS.Timeout };
type OpenTarget = (url: string) => Promise<MoveTarget>;

/** A move ends if its status is not read for this long, because the command was killed. */
const LEASE_MS = 20_000;
const RECORDING =
  "Changes are recorded, which takes space, until the move is complete or `homeport db move --cancel` ends it.";
const NONE: DatabaseMove = { state: "none", to: null, step: null, share: 0, result: null, error: null };

/** The move of each database in this process. */
const jobs = new WeakMap<Context["database"], Job>();

/**
 * Starts to move the embedded database to PostgreSQL, in the background. While a move to the same database is running or
 * after it, returns its status. The move ends if nobody keeps reading its status.
 * @throws AppError forbidden if the service uses PostgreSQL; move_in_progress for another target than that of the move
 */
export async function startMove(deps: Deps, operator: Operator, { to }: NewDatabaseMove, openTarget?: OpenTarget) {
  requireEmbedded(deps);
  const { nameOf, openServerTarget } = await import("../db/move/server");
  // From here to the job's entry in `jobs` nothing is awaited: of simultaneous requests one starts the move.
  const current = jobs.get(deps.database);
  if (current?.status.state === "running" || current?.status.state === "moved") {
    if (current.status.to === nameOf(to)) return readMove(deps);
    throw new AppError("move_in_progress", `The database is being moved, or was moved, to ${current.status.to}.`);
  }
  const job = createJob(nameOf(to));
  jobs.set(deps.database, job);
  job.ended = run(deps, operator, job, () => (openTarget ?? openServerTarget)(to));
  return job.status;
}

function createJob(to: string): Job {
  const controller = new AbortController();
  const end = () => controller.abort(new Error("The command has ended. Repeat it to continue."));
  return {
    status: { ...NONE, state: "running", to, step: "copying" },
    ended: Promise.resolve(),
    controller,
    lease: setTimeout(end, LEASE_MS).unref(),
  };
}

/** Returns the progress of the move, and keeps it running. */
export function readMove({ database }: Pick<Context, "database">): DatabaseMove {
  const job = jobs.get(database);
  if (job?.status.state === "running") job.lease.refresh();
  return job?.status ?? NONE;
}

/** Cancels the move and discards its progress. If the move was complete, lets the service write again. */
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

async function run(deps: Deps, operator: Operator, job: Job, openTarget: () => Promise<MoveTarget>): Promise<void> {
  const { config, db, log, now } = deps;
  try {
    await recordOperatorEvent(db, now(), operator, { type: "database_moved", target: `database:${job.status.to}` });
    const source = embeddedSource(config.DATA_DIR, requireEmbedded(deps));
    const target = await openTarget();
    const { signal } = job.controller;
    const closeTarget = () => void target.close();
    signal.addEventListener("abort", closeTarget); // ends a statement that does not respond
    const result = await moveDatabase(source, target, {
      signal,
      onProgress: ({ step, share }) => Object.assign(job.status, { step, share }),
      beforePause: async () => {
        await Promise.all([deps.adoption.flush(), deps.updateReports.flush()]);
        signal.removeEventListener("abort", closeTarget);
      },
    }).finally(target.close);
    Object.assign(job.status, { state: "moved", share: 1, result });
    log.info({ to: target.name, ...result }, "the database has moved: restart with DATABASE_URL");
  } catch (error) {
    const { code = "move_failed", message } = causeOf(error, job);
    const isRecording = (await findCapture(requireEmbedded(deps).copySession).catch(() => null)) !== null;
    const full = isRecording ? `${message.replace(/\.?$/, ".")} ${RECORDING}` : message;
    Object.assign(job.status, { state: "failed", error: { code, message: full } });
    const continues = "the database was not moved: the service continues with the embedded database";
    log.warn({ err: error }, isRecording ? `${continues}. ${RECORDING}` : continues);
  } finally {
    clearTimeout(job.lease);
  }
}

/** Why a move ended: a target that was closed reports a lost connection. */
function causeOf(error: unknown, { controller: { signal } }: Job) {
  return (signal.aborted ? signal.reason : error) as Error & { code?: string };
}

function requireEmbedded({ database }: Pick<Context, "database">) {
  if (database.embedded) return database.embedded;
  throw new AppError("forbidden", "The service uses PostgreSQL: the command moves the database itself.");
}
