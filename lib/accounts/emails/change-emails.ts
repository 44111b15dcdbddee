import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { sql, uuidArray } from "../../platform/db/sql";
import { countRows } from "../../platform/lists";
import type { Operator } from "../../principal";
import { STATE } from "./list-emails";
import type { EmailRetry } from "./schema";

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
