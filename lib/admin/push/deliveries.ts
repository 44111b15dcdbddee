import type { Context } from "../../context";
import type { Prisma, PushDeliveryState, PushPause } from "../../db/generated/client";
import { timeOfId } from "../../db/ids";
import { sql } from "../../db/sql";

type Deps = Pick<Context, "db" | "dbNow">;
type Filter = { accountId?: string; state?: PushDeliveryState; limit: number };

/** A delivery as an operator sees it. `nextAttemptAt` is null once it has ended. */
type Delivery = {
  id: string;
  eventKey: string | null;
  kind: string | null;
  deviceId: string;
  state: PushDeliveryState;
  attempts: number;
  apnsStatus: number | null;
  reason: string | null;
  createdAt: Date;
  expiresAt: Date;
  nextAttemptAt: Date | null;
  sentAt: Date | null;
};
type Row = Omit<Delivery, "createdAt">;

const QUEUED_STATES: readonly (PushDeliveryState | undefined)[] = ["queued", "sending", undefined];

/** Returns the newest deliveries, without their payloads. */
export async function listDeliveries({ db }: Pick<Deps, "db">, filter: Filter): Promise<Delivery[]> {
  const { state, limit } = filter;
  const queued = QUEUED_STATES.includes(state) ? await db.$queryRaw<Row[]>(selectQueued(filter)) : [];
  const isEnded = state === undefined || !QUEUED_STATES.includes(state);
  const ended = isEnded ? await db.$queryRaw<Row[]>(selectEnded(filter)) : [];
  return [...queued, ...ended]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit)
    .map((row) => ({ ...row, createdAt: timeOfId(row.id) }));
}

/** Returns the pauses of APNs environments. */
export function listPauses({ db, dbNow }: Deps): Promise<PushPause[]> {
  return db.$queryRaw<PushPause[]>`
    SELECT "environment"::text, "until", "reason" FROM "PushPause" WHERE "until" > ${dbNow()} ORDER BY "environment"`;
}

function selectQueued({ accountId, state, limit }: Filter): Prisma.Sql {
  const ofAccount = accountId === undefined ? sql`true` : sql`queued."deviceId" IN (${devicesOf(accountId)})`;
  const inState = state === undefined ? sql`true` : sql`(queued."leaseUntil" IS NULL) = ${state === "queued"}`;
  return sql`
    SELECT queued."id", message."eventKey", message."kind", queued."deviceId",
      CASE WHEN queued."leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END AS "state", queued."attempts",
      queued."apnsStatus", queued."reason", queued."expiresAt", queued."nextAttemptAt", NULL::timestamptz AS "sentAt"
    FROM "QueuedPush" AS queued LEFT JOIN "PushMessage" AS message ON message."id" = queued."messageId"
    WHERE ${ofAccount} AND ${inState} ORDER BY queued."id" DESC LIMIT ${limit}`;
}

/** The newest are found by `endedAt`, or for an account by its messages and the broadcasts. */
function selectEnded({ accountId, state, limit }: Filter): Prisma.Sql {
  const ofAccount = accountId === undefined ? sql`true` : isOfAccount(accountId);
  const inState = state === undefined ? sql`true` : sql`receipt."state" = ${state}::"PushDeliveryState"`;
  return sql`
    SELECT receipt."id", message."eventKey", message."kind", receipt."deviceId", receipt."state"::text,
      receipt."attempts", receipt."apnsStatus", receipt."reason", receipt."expiresAt",
      NULL::timestamptz AS "nextAttemptAt", CASE WHEN receipt."state" = 'sent' THEN receipt."endedAt" END AS "sentAt"
    FROM "PushReceipt" AS receipt LEFT JOIN "PushMessage" AS message ON message."id" = receipt."messageId"
    WHERE ${ofAccount} AND ${inState} ORDER BY receipt."endedAt" DESC LIMIT ${limit}`;
}

function isOfAccount(accountId: string): Prisma.Sql {
  return sql`(receipt."messageId", receipt."deviceId") IN (
    SELECT message."id", device."id" FROM "PushDevice" AS device JOIN "PushMessage" AS message
      ON message."accountId" = device."accountId" OR message."deviceId" = device."id"
        OR (message."accountId" IS NULL AND message."deviceId" IS NULL)
    WHERE device."accountId" = ${accountId}::uuid
  )`;
}

function devicesOf(accountId: string): Prisma.Sql {
  return sql`SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid`;
}
