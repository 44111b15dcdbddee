import { z } from "zod";
import type { Context } from "../../context";
import { operation } from "../../operation";
import { type BackupState, readBackupState } from "../backup/schedule";
import { isStorageFull } from "../database-errors";
import { RouteResponse } from "../http-message";

type Deps = Pick<Context, "catalog" | "config" | "database" | "db" | "isDraining" | "now">;

const CACHE_MS = 1_000;
/** A second, in steps: an interval that is late, because the process was busy, does not catch up. */
const TICK_MS = 100;
const TIMEOUT_TICKS = 10;

export const HealthQuery = z.object({
  probe: z
    .enum(["live", "ready"])
    .default("ready")
    .describe("`live`: the process runs. `ready`: it can serve requests."),
});
export type HealthQuery = z.infer<typeof HealthQuery>;

/** `checks` is present if anything was checked. */
export const Health = z.object({
  status: z.enum(["ok", "error", "draining"]),
  checks: z
    .object({
      database: z.enum(["ok", "error"]),
      storage: z.enum(["ok", "error"]),
      catalog: z.enum(["ok", "warn", "error"]),
      writes: z
        .literal("paused")
        .optional()
        .describe("Present while a copy of the embedded database makes writes wait."),
      backup: z.enum(["ok", "warn"]).optional().describe("With `BACKUP_SCHEDULE`. `warn`: a backup is missing."),
      mirror: z.enum(["ok", "warn"]).optional().describe("With `RELEASE_MIRROR`. `warn`: it is behind the catalog."),
    })
    .optional(),
  lastBackupAt: z.date().optional().describe("When the last backup succeeded, with `BACKUP_SCHEDULE`."),
});
export type Health = z.infer<typeof Health>;

/** `backup` is null without BACKUP_SCHEDULE, and with a fault; so is `mirror` without RELEASE_MIRROR. */
type Findings = {
  fault: Awaited<ReturnType<Context["database"]["checkWrites"]>>;
  backup: BackupState | null;
  mirror: MirrorState | null;
};
/** The latest check of a context's database. */
type CachedCheck = { startedAtMs: number; isPending: boolean; findings: Promise<Findings> };
const cachedChecks = new WeakMap<Deps, CachedCheck>();

/**
 * Checks the service. The database is queried at most once a second and by one query at a time, however many callers
 * there are. A stale catalog or mirror and a missing backup are warnings, a missing catalog is an error.
 */
export async function checkHealth(ctx: Deps, { probe }: HealthQuery): Promise<Health> {
  if (ctx.isDraining) return { status: "draining" };
  if (probe === "live") return { status: "ok" };
  const { fault, backup, mirror } = await checkDatabase(ctx);
  const catalog = ctx.catalog.state();
  const checks = {
    database: fault === "database" ? ("error" as const) : ("ok" as const),
    storage: fault === "storage" ? ("error" as const) : ("ok" as const),
    catalog,
    ...(ctx.database.embedded?.isPaused() && { writes: "paused" as const }),
    ...(backup && { backup: backup.isLate ? ("warn" as const) : ("ok" as const) }),
    ...(mirror && { mirror: mirror.isCurrent ? ("ok" as const) : ("warn" as const) }),
  };
  const status = fault === null && catalog !== "error" ? "ok" : "error";
  return { status, checks, ...(backup?.lastSuccessAt && { lastBackupAt: backup.lastSuccessAt }) };
}

function checkDatabase(ctx: Deps): Promise<Findings> {
  const nowMs = ctx.now().getTime();
  const latest = cachedChecks.get(ctx);
  if (latest && (latest.isPending || Math.abs(nowMs - latest.startedAtMs) < CACHE_MS)) return latest.findings;
  const query = readFindings(ctx);
  const check = { startedAtMs: nowMs, isPending: true, findings: withTimeout(query) };
  void query.finally(() => {
    check.isPending = false;
  });
  cachedChecks.set(ctx, check);
  return check.findings;
}

async function readFindings(deps: Deps): Promise<Findings> {
  const { config, database } = deps;
  try {
    const fault = (await database.migrated()) ? await database.checkWrites() : "database";
    const hasBackup = fault === null && config.BACKUP_SCHEDULE !== undefined;
    const mirror = fault === null ? await readMirrorState(deps) : null;
    return { fault, backup: hasBackup ? await readBackupState(deps) : null, mirror };
  } catch (error) {
    return { ...FAULT, ...(isStorageFull(error) && { fault: "storage" }) };
  }
}

const FAULT: Findings = { fault: "database", backup: null, mirror: null };

/** How long a mirror may not have been found current before it counts as behind. */
const MAX_MIRROR_AGE_MS = 60_000;

export type MirrorState = {
  isCurrent: boolean;
  /** When it last was. */
  currentAt: Date | null;
  pendingFiles: number;
  error: string | null;
};

/** How far the mirror is behind the catalog. null without RELEASE_MIRROR. */
export async function readMirrorState({
  config: { RELEASE_MIRROR: location },
  db,
  now,
}: Pick<Deps, "config" | "db" | "now">): Promise<MirrorState | null> {
  if (location === undefined) return null;
  const row = await db.releaseMirror.findUnique({ where: { location } });
  const { currentAt, pendingFiles, error } = row ?? { currentAt: null, pendingFiles: 0, error: null };
  const isRecent = currentAt !== null && now().getTime() - currentAt.getTime() < MAX_MIRROR_AGE_MS;
  return { isCurrent: isRecent && error === null, currentAt, pendingFiles, error };
}

/**
 * A database fault if the query takes too long. Only time in which this process runs counts: while it renders a page, it
 * cannot read the database's response. The next check still waits for the query to end.
 */
function withTimeout(query: Promise<Findings>): Promise<Findings> {
  let timer: NodeJS.Timeout | undefined;
  let ticks = 0;
  const late = new Promise<Findings>((resolve) => {
    timer = setInterval(() => ++ticks === TIMEOUT_TICKS && resolve(FAULT), TICK_MS);
  });
  return Promise.race([query, late]).finally(() => clearInterval(timer));
}

export const healthOperations = {
  checkHealth: operation({
    id: "checkHealth",
    summary: "Check the service's health",
    description:
      "`ready`, the default, checks the database, at most once per second, and the release catalog. `live` checks only that the process runs; use it to decide on restarts, and in load balancers. Both fail while the service shuts down.",
    database: false,
    query: HealthQuery,
    response: {
      description: "The service is healthy.",
      schema: Health,
      examples: {
        Ready: { status: "ok", checks: { database: "ok", storage: "ok", catalog: "ok" } },
        Alive: { status: "ok" },
      },
    },
    otherResponses: {
      503: {
        description: "The service cannot take requests: a check failed, or it is shutting down.",
        schema: Health,
        examples: {
          "No database": { status: "error", checks: { database: "error", storage: "ok", catalog: "ok" } },
          "Shutting down": { status: "draining" },
        },
      },
    },
    run: async ({ ctx, query }) => {
      const health = await checkHealth(ctx, query);
      return new RouteResponse(health.status === "ok" ? 200 : 503, health, { "Cache-Control": "no-store" });
    },
  }),
};
