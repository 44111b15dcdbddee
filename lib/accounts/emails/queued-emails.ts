import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { readDatabaseTime } from "../../platform/db/clock";
import type { Prisma, QueuedEmail as StoredEmail } from "../../platform/db/generated/client";
import { idOr, MAX_ID, NIL_ID } from "../../platform/db/ids";
import { MAX_COUNTED, readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import type { EmailRetry, EmailsQuery, QueuedEmail } from "./schema";

type Deps = Pick<Context, "db" | "dbNow" | "emails" | "now">;

type State = QueuedEmail["state"];
type Row = Omit<StoredEmail, "data">;

/** Why a row waits: see `retryAt` in the schema. */
function statesOf({ fields: { retryAt } }: Tx["queuedEmail"]): Record<State, Prisma.QueuedEmailWhereInput> {
  return {
    queued: { attempts: 0 },
    retrying: { attempts: { gt: 0 }, nextAttemptAt: { equals: retryAt } },
    sending: { attempts: { gt: 0 }, OR: [{ retryAt: null }, { NOT: { nextAttemptAt: { equals: retryAt } } }] },
  };
}

function stateOf({ attempts, nextAttemptAt, retryAt }: Pick<Row, "attempts" | "nextAttemptAt" | "retryAt">): State {
  if (attempts === 0) return "queued";
  return nextAttemptAt.getTime() === retryAt?.getTime() ? "retrying" : "sending";
}

/** A kind as the operator knows it: that of an email with data is followed by its id. */
const kindOf = (kind: string): string => kind.split(":", 1)[0] ?? "";

/** A page of the emails that wait to be sent, without their contents. @throws AppError invalid_query */
export async function listEmails({ db }: Pick<Context, "db">, { state, to, order = "newest", ...page }: EmailsQuery) {
  const isNewest = order === "newest";
  const { entries, nextCursor } = await readPage(`emails/${order}`, page, ({ after, take }) =>
    db.queuedEmail.findMany({
      where: {
        id: isNewest ? { lt: idOr(MAX_ID, after) } : { gt: idOr(NIL_ID, after) },
        ...(to !== undefined && { email: to }),
        ...(state && statesOf(db.queuedEmail)[state]),
      },
      orderBy: { id: isNewest ? "desc" : "asc" },
      omit: { data: true },
      take,
    }),
  );
  return { messages: entries.map(describe), nextCursor };
}

function describe({ email, kind, retryAt, nextAttemptAt, ...row }: Row): QueuedEmail {
  const state = stateOf({ ...row, nextAttemptAt, retryAt });
  return { ...row, kind: kindOf(kind), to: email, state, nextAttemptAt: state === "sending" ? null : nextAttemptAt };
}

/** Sends the emails at once that wait for a later attempt, or those with the given ids. Returns how many. */
export async function retryEmails({ db, dbNow, emails, now }: Deps, operator: Operator, { ids }: EmailRetry) {
  const retried = await db.$transaction(async (tx) => {
    const at = await readDatabaseTime({ db: tx, dbNow });
    const where = { ...waitingAt(tx, at), ...(ids && { id: { in: ids } }) };
    const { count: rows } = await tx.queuedEmail.updateMany({ where, data: { nextAttemptAt: at, retryAt: at } });
    const event = { type: "email_retried", target: "email:queue", details: { emails: rows } } as const;
    if (rows > 0) await recordOperatorEvent(tx, now(), operator, event);
    return rows;
  });
  emails.wake();
  return { retried };
}

/** The emails that wait for another attempt and are worth sending. */
const waitingAt = (db: Tx, at: Date): Prisma.QueuedEmailWhereInput => ({
  AND: [statesOf(db.queuedEmail).retrying, { nextAttemptAt: { gt: at }, expiresAt: { gt: at } }],
});

/** Counts the emails that `retryEmails` sends: `MAX_COUNTED` at most. */
export async function countRetrying({ db, dbNow }: Pick<Deps, "db" | "dbNow">): Promise<number> {
  const at = await readDatabaseTime({ db, dbNow });
  return db.queuedEmail.count({ where: waitingAt(db, at), take: MAX_COUNTED });
}

/** Removes an email from the queue: it is not sent, unless that has begun. @throws AppError not_found */
export async function removeEmail(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  id: string,
): Promise<void> {
  await db.$transaction(async (tx) => {
    const [row] = await tx.$queryRaw<Pick<Row, "kind" | "attempts">[]>`
      DELETE FROM "QueuedEmail" WHERE "id" = ${id}::uuid RETURNING "kind", "attempts"`;
    if (!row) throw new AppError("not_found");
    const details = { ...row, kind: kindOf(row.kind) };
    await recordOperatorEvent(tx, now(), operator, { type: "email_removed", target: `email:${id}`, details });
  });
}
