import type { Context } from "../../context";
import { idOr, MAX_ID, NIL_ID } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { readPage } from "../../platform/lists";
import type { EmailsQuery, QueuedEmail, QueuedEmails } from "./schema";

type Row = Omit<QueuedEmail, "kind" | "to"> & { kind: string; email: string };

/** Why a row waits, as SQL: see `retryAt` in the schema. */
export const STATE = sql`
  CASE WHEN "attempts" = 0 THEN 'queued' WHEN "nextAttemptAt" = "retryAt" THEN 'retrying' ELSE 'sending' END`;

/** A page of the emails that wait to be sent, without their contents. @throws AppError invalid_query */
export async function listEmails(
  { db }: Pick<Context, "db">,
  { state, to, order = "newest", ...page }: EmailsQuery,
): Promise<QueuedEmails> {
  const isNewest = order === "newest";
  const direction = isNewest ? sql`DESC` : sql`ASC`;
  const { entries, nextCursor } = await readPage(`emails/${order}`, page, ({ after, take }) => {
    const isAfter = isNewest ? sql`"id" < ${idOr(MAX_ID, after)}::uuid` : sql`"id" > ${idOr(NIL_ID, after)}::uuid`;
    return db.$queryRaw<Row[]>`
      SELECT "id"::text, split_part("kind", ':', 1) AS "kind", "email", "locale", ${STATE} AS "state", "attempts",
        "lastError", "createdAt", "nextAttemptAt", "expiresAt"
      FROM "QueuedEmail" AS email
      WHERE ${isAfter} AND ${to === undefined ? sql`true` : sql`"email" = ${to}`}
        AND ${state === undefined ? sql`true` : sql`${STATE} = ${state}`}
      ORDER BY email."id" ${direction} LIMIT ${take}`;
  });
  return { messages: entries.map(describe), nextCursor };
}

function describe({ email, nextAttemptAt, ...row }: Row): QueuedEmail {
  return { ...row, to: email, nextAttemptAt: row.state === "sending" ? null : nextAttemptAt };
}
