import { z } from "zod";
import type { Context } from "../context";

type Deps = Pick<Context, "catalog" | "database" | "draining" | "now">;
type Fault = Awaited<ReturnType<Context["database"]["findFault"]>>;

const CACHE_MS = 1_000;
const TIMEOUT_MS = 1_000;

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
    })
    .optional(),
});
export type Health = z.infer<typeof Health>;

/** The latest check of a context's database. */
type CachedCheck = { startedAtMs: number; isPending: boolean; fault: Promise<Fault> };
const cachedChecks = new WeakMap<Deps, CachedCheck>();

/**
 * Checks the service. The database is queried at most once a second and by one query at a time, however many callers
 * there are. A stale catalog is a warning, a missing one an error.
 */
export async function checkHealth(ctx: Deps, { probe }: HealthQuery): Promise<Health> {
  if (probe === "live") return { status: "ok" };
  if (ctx.draining) return { status: "draining" };
  const fault = await databaseFault(ctx);
  const catalog = ctx.catalog.state();
  const checks = {
    database: fault === "database" ? ("error" as const) : ("ok" as const),
    storage: fault === "storage" ? ("error" as const) : ("ok" as const),
    catalog,
  };
  return { status: fault === null && catalog !== "error" ? "ok" : "error", checks };
}

function databaseFault(ctx: Deps): Promise<Fault> {
  const nowMs = ctx.now().getTime();
  const latest = cachedChecks.get(ctx);
  if (latest && (latest.isPending || Math.abs(nowMs - latest.startedAtMs) < CACHE_MS)) return latest.fault;
  const query = findFault(ctx);
  const check = { startedAtMs: nowMs, isPending: true, fault: withTimeout(query) };
  void query.finally(() => {
    check.isPending = false;
  });
  cachedChecks.set(ctx, check);
  return check.fault;
}

async function findFault({ database }: Deps): Promise<Fault> {
  try {
    return (await database.migrated()) ? await database.findFault() : "database";
  } catch {
    return "database";
  }
}

/** A database fault if the query takes too long. The next check still waits for the query to end. */
async function withTimeout(query: Promise<Fault>): Promise<Fault> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Fault>((resolve) => {
    timer = setTimeout(resolve, TIMEOUT_MS, "database");
  });
  return Promise.race([query, late]).finally(() => clearTimeout(timer));
}
