import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { idOr, MAX_ID, NIL_ID } from "../../platform/db/ids";
import { sql, uuidArray } from "../../platform/db/sql";
import { countRows, readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import type { EmailRetry, EmailsQuery, QueuedEmail, QueuedEmails } from "./schema";

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

type Deps = Pick<Context, "db" | "dbNow" | "emails" | "now">;

/** Sends the emails at once that wait for a later attempt, or those with the given ids. Returns how many. */
export async function retryEmails(
  { db, dbNow, emails, now }: Deps,
  operator: Operator,
  { ids }: EmailRetry,
): Promise<{ retried: number }> {
  const isChosen = ids === undefined ? sql`true` : sql`"id" = ANY(${uuidArray(ids)})`;
  const retried = await db.$transaction(async (tx) => {
    const rows = await tx.$executeRaw`
      UPDATE "QueuedEmail" SET "nextAttemptAt" = ${dbNow()}, "retryAt" = ${dbNow()}
      WHERE ${isChosen} AND ${STATE} = 'retrying' AND "nextAttemptAt" > ${dbNow()} AND "expiresAt" > ${dbNow()}`;
    const event = { type: "email_retried", target: "email:queue", details: { emails: rows } } as const;
    if (rows > 0) await recordOperatorEvent(tx, now(), operator, event);
    return rows;
  });
  emails.wake();
  return { retried };
}

/** Counts the emails that `retryEmails` sends: `MAX_COUNTED` at most. */
export function countRetrying({ db, dbNow }: Pick<Deps, "db" | "dbNow">): Promise<number> {
  return countRows(
    db,
    sql`SELECT 1 FROM "QueuedEmail"
      WHERE ${STATE} = 'retrying' AND "nextAttemptAt" > ${dbNow()} AND "expiresAt" > ${dbNow()}`,
  );
}

/** Removes an email from the queue: it is not sent, unless that has begun. @throws AppError not_found */
export async function removeEmail(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  id: string,
): Promise<void> {
  await db.$transaction(async (tx) => {
    const [row] = await tx.$queryRaw<{ kind: string; attempts: number }[]>`
      DELETE FROM "QueuedEmail" WHERE "id" = ${id}::uuid RETURNING split_part("kind", ':', 1) AS "kind", "attempts"`;
    if (!row) throw new AppError("not_found");
    await recordOperatorEvent(tx, now(), operator, { type: "email_removed", target: `email:${id}`, details: row });
  });
}
