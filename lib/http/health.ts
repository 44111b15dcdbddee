import { z } from "zod";
import type { Context } from "../context";

type Deps = Pick<Context, "catalog" | "database" | "draining" | "now">;
type Fault = Awaited<ReturnType<Context["database"]["findFault"]>>;

const KEPT_MS = 1_000;
const TIMEOUT_MS = 1_000;

export const HealthQuery = z.object({
  probe: z
    .enum(["live", "ready"])
    .default("ready")
    .describe("`live` asks whether the process runs, `ready` whether it can do its work."),
});
export type HealthQuery = z.infer<typeof HealthQuery>;

/** `checks` stands where something was looked at. */
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

/** What stands in the way of writes, as last asked of a context's database. */
type Heard = { askedAtMs: number; isOpen: boolean; answer: Promise<Fault> };
const heard = new WeakMap<Deps, Heard>();

/**
 * Whether the service is up. The database is asked at most once a second, one question at a time, however many
 * callers there are; a stale catalog is a warning, none at all an error.
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
  const last = heard.get(ctx);
  if (last && (last.isOpen || Math.abs(nowMs - last.askedAtMs) < KEPT_MS)) return last.answer;
  const question = ask(ctx);
  const next = { askedAtMs: nowMs, isOpen: true, answer: withTimeout(question) };
  void question.finally(() => {
    next.isOpen = false;
  });
  heard.set(ctx, next);
  return next.answer;
}

async function ask({ database }: Deps): Promise<Fault> {
  try {
    return (await database.migrated()) ? await database.findFault() : "database";
  } catch {
    return "database";
  }
}

/** A fault where the answer does not come in time; it is still waited for before the next question. */
async function withTimeout(question: Promise<Fault>): Promise<Fault> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Fault>((resolve) => {
    timer = setTimeout(resolve, TIMEOUT_MS, "database");
  });
  return Promise.race([question, late]).finally(() => clearTimeout(timer));
}
