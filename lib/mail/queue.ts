import type { Logger } from "pino";
import type { Prisma, PrismaClient } from "../db/generated/client";
import { newId } from "../db/ids";
import { backoffSeconds } from "../db/queue/backoff";
import { createConsumer } from "../db/queue/consumer";
import { createLeaseQueue, type Lease, type LeaseQueue } from "../db/queue/lease-queue";
import { sql } from "../db/sql";
import type { Tx } from "../db/transaction";
import type { Email } from "./email-texts";

/** Composes an email when it is sent; null if its recipient no longer needs it. */
type Compose = (email: string) => Promise<Email | null>;

/** The queue of outgoing email. Its rows outlive a mail server that is down and a process that is killed. */
export type EmailQueue<Kind extends string = string> = {
  /** Queues an email, in the transaction of its cause. A kind is queued once for each recipient. */
  enqueue: (tx: Tx, kind: Kind, email: string) => Promise<void>;
  /** Starts to send what is due, and returns at once. Call it after the commit of an `enqueue`, and periodically. */
  wake: () => void;
  /** Waits for the emails being sent. The rest stay queued. */
  close: () => Promise<void>;
};

type Deps = {
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  log: Logger;
  mailer: { send: (email: Email) => Promise<void> };
};
type Row = { id: string; kind: string; email: string; expiresAt: Date };
type Queue = LeaseQueue<Row>;

/** Limits the connections to a mail server that does not respond. */
const MAX_CONCURRENT = 4;
const LEASE_SECONDS = 2 * 60;
const RETRY_DELAYS_SECONDS = [5, 15, 60, 5 * 60, 10 * 60];

/** Creates `enqueue` alone, for a process that sends no email. `ttlSeconds` is how long each kind is worth sending. */
export function createEnqueueEmail<Kind extends string>(
  { dbNow }: Pick<Deps, "dbNow">,
  ttlSeconds: Record<Kind, number>,
): EmailQueue<Kind>["enqueue"] {
  return async (tx, kind, email) => {
    await tx.$executeRaw`
      INSERT INTO "QueuedEmail" ("id", "kind", "email", "createdAt", "nextAttemptAt", "expiresAt")
      SELECT ${newId()}::uuid, ${kind}, ${email}, at, at, at + interval '1 second' * ${ttlSeconds[kind]}::int
      FROM (SELECT ${dbNow()} AS at) AS clock
      ON CONFLICT ("kind", "email") DO UPDATE SET "attempts" = 0, "createdAt" = EXCLUDED."createdAt",
        "nextAttemptAt" = EXCLUDED."nextAttemptAt", "expiresAt" = EXCLUDED."expiresAt"`;
  };
}

/** Creates the queue. It sends nothing before the first `wake`. */
export function createEmailQueue<Kind extends string>(
  deps: Deps,
  ttlSeconds: Record<Kind, number>,
  composers: Record<Kind, Compose>,
): EmailQueue<Kind> {
  const queue = createLeaseQueue<Row>(deps, {
    table: "QueuedEmail",
    key: "id",
    keyType: "uuid",
    dueAt: "nextAttemptAt",
    leaseSeconds: LEASE_SECONDS,
  });
  const isKnownKind = sql`"kind" = ANY(${Object.keys(composers)}::text[])`;
  const { wake, close } = createConsumer({
    concurrency: MAX_CONCURRENT,
    processNext: async () => {
      const row = await queue.claim(isKnownKind);
      if (row) await deliver(deps, queue, composers[row.kind as Kind], row);
      return row !== null;
    },
    onError: (error) => deps.log.warn({ err: error }, "the email queue is waiting for the database"),
  });
  return { enqueue: createEnqueueEmail(deps, ttlSeconds), wake, close };
}

async function deliver({ log, mailer }: Deps, queue: Queue, compose: Compose, row: Row & Lease): Promise<void> {
  const { kind, attempts } = row;
  try {
    if (row.expiresAt <= row.claimedAt) log.error({ kind, attempts }, "email discarded: it expired before it was sent");
    else await send(mailer, await compose(row.email));
    await queue.complete(row);
  } catch (error) {
    const { code, command, responseCode } = error as Record<string, unknown>;
    // Not the error itself: its message contains the recipient.
    const failure = { kind, attempts, code, command, responseCode };
    if (isPermanent(code, responseCode)) {
      log.error(failure, "email discarded: the mail server rejected it");
      return queue.complete(row);
    }
    log.warn(failure, "email not sent: it will be retried");
    await queue.retry(row, backoffSeconds(RETRY_DELAYS_SECONDS, attempts));
  }
}

async function send(mailer: Deps["mailer"], email: Email | null): Promise<void> {
  if (email) await mailer.send(email);
}

/** Whether the mail server rejected the recipient or the content permanently (RFC 5321, section 4.2.1). */
function isPermanent(code: unknown, responseCode: unknown): boolean {
  return (code === "EENVELOPE" || code === "EMESSAGE") && typeof responseCode === "number" && responseCode >= 500;
}
