import type { Context, Tx } from "../context";

type Email = { to: string; subject: string; text: string };

/** Composes a mail at the moment of sending; null where it has no reader any more. */
type Compose = (email: string) => Promise<Email | null>;

/** Mail on its way out: rows of one table, so that neither a mail server that is down nor a kill loses one. */
export type EmailQueue<Name extends string = string> = {
  /** Promises a mail, in the transaction of what causes it. Of one kind an address has one waiting at most. */
  enqueue: (tx: Tx, kind: Name, email: string) => Promise<void>;
  /** Begins to send what is due, and returns at once. Call it after the commit of a `post`, and now and then. */
  wake: () => void;
  /** Waits for what is being sent. The rest stays for the next start. */
  close: () => Promise<void>;
};

type Deps = Pick<Context, "db" | "dbNow" | "log" | "mailer">;
type QueuedRow = { id: string; kind: string; email: string; attempts: number; leaseUntil: Date; isExpired: boolean };

/** So many mails are on their way at once: a mail server that hangs takes no more sockets than these. */
const MAX_CONCURRENT = 4;
/** Longer than any attempt takes; whoever was killed at it has lost it then. */
const LEASE_SECONDS = 2 * 60;
/** After the first failure, the second and so on; then always the last. */
const RETRY_SECONDS = [5, 15, 60, 5 * 60, 10 * 60];

/** Makes the queue's `post`, for a process that sends nothing itself. `ttlSeconds` is how long a kind is worth sending. */
export function createEnqueueEmail<Name extends string>(
  { dbNow }: Pick<Deps, "dbNow">,
  ttlSeconds: Record<Name, number>,
): EmailQueue<Name>["enqueue"] {
  return async (tx, kind, email) => {
    await tx.$executeRaw`
      INSERT INTO "QueuedMail" ("id", "kind", "email", "createdAt", "nextAttemptAt", "expiresAt")
      SELECT gen_random_uuid(), ${kind}, ${email}, at, at, at + interval '1 second' * ${ttlSeconds[kind]}::int
      FROM (SELECT ${dbNow()} AS at) AS clock
      ON CONFLICT ("kind", "email") DO UPDATE SET "attempts" = 0, "createdAt" = EXCLUDED."createdAt",
        "nextAttemptAt" = EXCLUDED."nextAttemptAt", "expiresAt" = EXCLUDED."expiresAt"`;
  };
}

/** Makes the queue. Nothing is sent before the first `wake`. */
export function createEmailQueue<Name extends string>(
  deps: Deps,
  ttlSeconds: Record<Name, number>,
  kinds: Record<Name, Compose>,
): EmailQueue<Name> {
  const lanes = new Set<Promise<void>>();
  let isWanted = false;
  let isClosed = false;

  const next = async () => (isClosed ? null : claim(deps, Object.keys(kinds)));
  const drain = async () => {
    while (isWanted) {
      isWanted = false; // a wake from now on may be for a row that the last claim did not see yet
      for (let row = await next(); row; row = await next()) await attempt(deps, kinds[row.kind as Name], row);
    }
  };
  return {
    enqueue: createEnqueueEmail(deps, ttlSeconds),
    wake: () => {
      isWanted = true;
      if (isClosed || lanes.size >= MAX_CONCURRENT) return;
      const lane = drain()
        .catch((error: unknown) => deps.log.warn({ err: error }, "mail waits: the database is out of reach"))
        .finally(() => lanes.delete(lane));
      lanes.add(lane);
    },
    close: async () => {
      isClosed = true;
      await Promise.all(lanes);
    },
  };
}

/** Takes the row that has waited longest, in one statement; null where none is due. */
async function claim({ db, dbNow }: Deps, kinds: string[]): Promise<QueuedRow | null> {
  const [row] = await db.$queryRaw<QueuedRow[]>`
    UPDATE "QueuedMail"
    SET "attempts" = "attempts" + 1, "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${LEASE_SECONDS}::int
    WHERE "id" = (
      SELECT "id" FROM "QueuedMail" WHERE "nextAttemptAt" <= ${dbNow()} AND "kind" = ANY(${kinds}::text[])
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING "id", "kind", "email", "attempts", "nextAttemptAt" AS "leaseUntil",
      "expiresAt" <= ${dbNow()} AS "isExpired"`;
  return row ?? null;
}

async function attempt(deps: Deps, compose: Compose, row: QueuedRow): Promise<void> {
  const { db, dbNow, log, mailer } = deps;
  // Where the same mail was asked for again meanwhile, the row is no longer ours to settle.
  const where = { id: row.id, nextAttemptAt: row.leaseUntil };
  const about = { kind: row.kind, attempts: row.attempts };
  try {
    if (row.isExpired) log.error(about, "mail given up: it was not sent in time");
    else await send(mailer, await compose(row.email));
    await db.queuedMail.deleteMany({ where });
  } catch (error) {
    const { code, command, responseCode } = error as Record<string, unknown>;
    // Not the error itself: its message names the recipient.
    const fault = { ...about, code, command, responseCode };
    if (isFinal(code, responseCode)) {
      log.error(fault, "mail given up: the mail server refuses it");
      await db.queuedMail.deleteMany({ where });
      return;
    }
    log.warn(fault, "mail not sent: trying again later");
    const seconds = RETRY_SECONDS[Math.min(row.attempts, RETRY_SECONDS.length) - 1] ?? 0;
    await db.$executeRaw`
      UPDATE "QueuedMail" SET "nextAttemptAt" = ${dbNow()} + interval '1 second' * ${seconds}::int
      WHERE "id" = ${row.id}::uuid AND "nextAttemptAt" = ${row.leaseUntil}::timestamptz`;
  }
}

async function send(mailer: Deps["mailer"], letter: Email | null): Promise<void> {
  if (letter) await mailer.send(letter);
}

/** Whether the server refused this recipient or this text for good (RFC 5321, 4.2.1); anything else may pass. */
function isFinal(code: unknown, responseCode: unknown): boolean {
  return (code === "EENVELOPE" || code === "EMESSAGE") && typeof responseCode === "number" && responseCode >= 500;
}
