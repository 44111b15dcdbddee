import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Context } from "../context";

type Deps = Pick<Context, "db" | "dbNow">;
type Outbox = { depth: number; ageSeconds: number };

const TIMEOUT_MS = 1_000;
/** More rows are not counted: a scrape must not cost more the longer the outbox is. */
const DEPTH_MOST = 100_000;

/**
 * The push outbox's gauges, and the function that brings them up to date. They have no value while the
 * database gives no answer in time.
 */
export function watchOutbox(prom: typeof import("prom-client"), registry: Registry, deps: Deps): () => Promise<void> {
  const gauge = (name: string, help: string) => new prom.Gauge({ name, help, registers: [registry] });
  const depth = gauge(
    "homeport_push_outbox_depth",
    `Notifications that wait to be sent, over all instances; at most ${DEPTH_MOST}`,
  );
  const age = gauge("homeport_push_outbox_oldest_age_seconds", "How long the longest due of them has been due");
  let question: Promise<Outbox | null> | undefined;
  return async () => {
    // One question at a time: a late answer is still waited for before the next.
    question ??= readOutbox(deps).finally(() => {
      question = undefined;
    });
    const outbox = await Promise.race([question, delay(TIMEOUT_MS, null, { ref: false })]);
    depth.remove();
    age.remove();
    if (!outbox) return;
    depth.set(outbox.depth);
    age.set(outbox.ageSeconds);
  };
}

/** null where the database cannot say. */
async function readOutbox({ db, dbNow }: Deps): Promise<Outbox | null> {
  try {
    const [row] = await db.$queryRaw<Outbox[]>`
      SELECT
        (SELECT count(*)::int FROM (
          SELECT 1 FROM "PushDelivery" WHERE "state" = 'queued' LIMIT ${DEPTH_MOST}
        ) AS counted) AS "depth",
        greatest(coalesce(extract(epoch FROM ${dbNow()} - min("nextAttemptAt")), 0), 0)::float8
          AS "ageSeconds"
      FROM "PushDelivery" WHERE "state" = 'queued'`;
    return row ?? null;
  } catch {
    return null;
  }
}
