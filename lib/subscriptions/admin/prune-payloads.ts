import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { sql } from "../../platform/db/sql";
import { countRows } from "../../platform/lists";
import type { Operator } from "../../principal";
import { type Position, progressOf, readBatch, toCursor } from "./event-batches";
import type { PruneBatch } from "./schema";

type Deps = Pick<Context, "db" | "now"> & { config: Pick<Context["config"], "BILLING_PAYLOAD_RETENTION_DAYS"> };

const DAY_MS = 24 * 60 * 60 * 1000;
/** The most events of one statement, and the most statements of one request. */
const BATCH_SIZE = 250;
const MAX_BATCHES = 20;

/**
 * Deletes the payloads of deliveries older than `BILLING_PAYLOAD_RETENTION_DAYS`, of 5,000 events at most. Keeps the
 * events, which the fold reads, and the payloads of failed events, which are needed to find the cause.
 * @throws AppError retention_not_configured
 */
export async function prunePayloads(deps: Deps, operator: Operator, { cursor, reason }: PruneBatch) {
  const days = deps.config.BILLING_PAYLOAD_RETENTION_DAYS;
  if (days === undefined) {
    const detail = "BILLING_PAYLOAD_RETENTION_DAYS is not set: all payloads are kept.";
    throw new AppError("retention_not_configured", { detail });
  }
  const before = retentionStart(deps, days);
  const selection = { states: ["processed", "ignored"], take: BATCH_SIZE } as const;
  let last: Position | undefined = cursor && { ...cursor, until: cursor.until < before ? cursor.until : before };
  let deleted = 0;
  for (let batches = 0; batches < MAX_BATCHES; batches += 1) {
    const { events, isEnd } = await readBatch(deps.db, last ?? { until: before }, selection);
    const ids = events.map(({ id }) => id);
    deleted += await deleteIn(deps, operator, ids, reason);
    last = events.at(-1);
    if (isEnd || !last) return { deleted, progress: 1, nextCursor: null };
  }
  return { deleted, progress: last ? progressOf(last) : 1, nextCursor: last ? toCursor(last) : null };
}

/** Counts the events that `prunePayloads` looks at: `MAX_COUNTED` at most. */
export function countExpired(deps: Pick<Deps, "db" | "now">, days: number): Promise<number> {
  const expired = sql`SELECT 1 FROM "BillingEvent"
    WHERE state IN ('processed', 'ignored') AND "receivedAt" <= ${retentionStart(deps, days)}::timestamptz`;
  return countRows(deps.db, expired);
}

const retentionStart = ({ now }: Pick<Deps, "now">, days: number) => new Date(now().getTime() - days * DAY_MS);

/** Deletes the payloads of a batch, and records it, in one transaction. */
function deleteIn(deps: Deps, operator: Operator, ids: string[], reason: string | undefined): Promise<number> {
  return deps.db.$transaction(async (tx) => {
    const count = await tx.$executeRaw`
      UPDATE "BillingEvent" SET payload = NULL WHERE id IN (
        SELECT id FROM "BillingEvent" WHERE id = ANY(${ids}::uuid[]) AND payload IS NOT NULL FOR UPDATE SKIP LOCKED)`;
    const details = { payloads: count, reason: reason ?? null };
    const event = { type: "billing_payloads_deleted", target: "billing-events", details } as const;
    if (count > 0) await recordOperatorEvent(tx, deps.now(), operator, event);
    return count;
  });
}
