import type { Prisma } from "../../../platform/db/generated/client";
import { literals, sql } from "../../../platform/db/sql";
import type { DeliveriesQuery } from "../schema";

type Filter = Pick<DeliveriesQuery, "state" | "reason" | "endedFrom">;

const isQueueState = (state: Filter["state"]) => state === "queued" || state === "sending";

export const isInQueue = ({ state, endedFrom }: Filter) =>
  endedFrom === undefined && (state === undefined || isQueueState(state));
export const isInReceipts = ({ state }: Filter) => !isQueueState(state);

/** The condition of a filter on deliveries in the queue. */
export function queuedWhere({ state, reason }: Filter): Prisma.Sql {
  const inState = state === undefined ? sql`true` : sql`(delivery."leaseUntil" IS NULL) = ${state === "queued"}`;
  return reason === undefined ? inState : sql`${inState} AND delivery."reason" = ${reason}`;
}

/** The condition on receipts. The state is a literal, and a reason excludes "sent": partial indexes apply to those alone. */
export function endedWhere({ state, reason, endedFrom }: Filter): Prisma.Sql {
  const ofState = state === undefined ? sql`true` : sql`delivery."state" = ${literals([state])}`;
  const inState =
    endedFrom === undefined ? ofState : sql`${ofState} AND delivery."endedAt" >= ${endedFrom}::timestamptz`;
  return reason === undefined
    ? inState
    : sql`${inState} AND delivery."state" <> 'sent' AND delivery."reason" = ${reason}`;
}
