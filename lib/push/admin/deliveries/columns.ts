import type { Prisma } from "../../../platform/db/generated/client";
import { literals, sql } from "../../../platform/db/sql";
import { OPERATOR_KINDS } from "../../notifications";
import type { Delivery } from "../schema";

/** A delivery, with the columns that its position in a list depends on. */
export type DeliveryRow = Omit<Delivery, "createdAt"> & { queuePriority: number; leaseUntil: Date | null };

/** Selects deliveries in the queue. `rest` is what follows FROM "QueuedPush" AS delivery. */
export function selectQueued(rest: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery."id", delivery."messageId", delivery."deviceId",
      CASE WHEN delivery."leaseUntil" IS NULL THEN 'queued' ELSE 'sending' END AS "state", delivery."attempts",
      delivery."apnsStatus", delivery."reason", delivery."expiresAt", delivery."nextAttemptAt",
      NULL::timestamptz AS "endedAt", delivery."queuePriority", delivery."leaseUntil"
    FROM "QueuedPush" AS delivery ${rest}`;
}

/** Selects deliveries that have ended. `rest` is what follows FROM "PushReceipt" AS delivery. */
export function selectEnded(rest: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery."id", delivery."messageId", delivery."deviceId", delivery."state"::text, delivery."attempts",
      delivery."apnsStatus", delivery."reason", delivery."expiresAt", NULL::timestamptz AS "nextAttemptAt",
      delivery."endedAt", 0::smallint AS "queuePriority", NULL::timestamptz AS "leaseUntil"
    FROM "PushReceipt" AS delivery ${rest}`;
}

/** As `textOf` has it for a message. */
const TITLE = sql`CASE WHEN message."kind" IN (${literals(OPERATOR_KINDS)})
  THEN coalesce(message."payload" #>> '{aps,alert,title}', message."payload" #>> '{data,version}') END`;

/** Adds the messages of selected deliveries. `order` names columns of `delivery`. */
export function withMessages(deliveries: Prisma.Sql, order: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT delivery.*, message."eventKey", message."kind", ${TITLE} AS "title" FROM (${deliveries}) AS delivery
    LEFT JOIN "PushMessage" AS message ON message."id" = delivery."messageId" ORDER BY ${order}`;
}
