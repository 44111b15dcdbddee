import type { Logger } from "pino";
import type { Prisma, PrismaClient, QueuedEmail } from "../db/generated/client";
import { newId } from "../db/ids";
import { backoffSeconds, createConsumer, createLeaseQueue, type Lease, type LeaseQueue } from "../db/queue";
import { sql } from "../db/sql";
import type { Tx } from "../db/transaction";
import { type Locale, toLocale } from "../locale";
import type { Email } from "./emails";

/** An email of a kind, as it was queued. `data` is null for kinds without data. Every attempt to send it has the same `id`. */
export type Queued<Data> = { id: string; to: string; data: Data; locale: Locale | null };

/** Composes an email when it is sent; null if its recipient no longer needs it. */
export type Compose<Data> = (queued: Queued<Data>) => Promise<Email | null>;

/** Data may be left out where it can be null. `locale` is needed only if the email has no account, or not yet. */
type Rest<Data> = null extends Data ? [data?: Data, locale?: string | null] : [data: Data, locale?: string | null];

/**
 * Queues an email, in the transaction of its cause. Without data, a kind is queued once for each recipient; with data,
 * each email is queued. It is written in the language of the account with this email, unless `locale` is given.
 */
type EnqueueEmail<Data extends object> = <Kind extends keyof Data & string>(
  tx: Tx,
  kind: Kind,
  email: string,
  ...rest: Rest<Data[Kind]>
) => Promise<void>;

/** The queue of outgoing email. Its rows outlive a mail server that is down and a process that is killed. */
export type EmailQueue<Data extends object> = {
  enqueue: EnqueueEmail<Data>;
  /** Starts to send what is due, and returns at once. Call it after the commit of an `enqueue`, and periodically. */
  wake: () => void;
  /** Waits for the emails being sent. The rest stay queued. */
  close: () => Promise<void>;
};

type Deps = {
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  log: Logger;
  mailer: { send: (email: Email, id: string) => Promise<void> };
};
type Row = Omit<QueuedEmail, "attempts" | "lastError" | "nextAttemptAt" | "retryAt">;
type Queue = LeaseQueue<Row>;

/** Limits the connections to a mail server that does not respond. */
const MAX_CONCURRENT = 4;
const LEASE_SECONDS = 2 * 60;
const RETRY_DELAYS_SECONDS = [5, 15, 60, 5 * 60, 10 * 60];
const MAX_ERROR_LENGTH = 100;
/** Between a kind and the id of an email with data. */
const SEPARATOR = ":";

/** `ttlSeconds` is how long each kind is worth sending. */
function createEnqueueEmail<Data extends object>(
  { dbNow }: Pick<Deps, "dbNow">,
  ttlSeconds: Record<keyof Data, number>,
): EnqueueEmail<Data> {
  return async (tx, kind, email, ...[data = null, locale = null]) => {
    const id = newId();
    const [key, json] = data === null ? [kind, null] : [`${kind}${SEPARATOR}${id}`, JSON.stringify(data)];
    // The conflict's target is what the previous release names, which may run at the same time.
    await tx.$executeRaw`
      INSERT INTO "QueuedEmail" ("id", "kind", "email", "data", "locale", "createdAt", "nextAttemptAt", "expiresAt")
      SELECT ${id}::uuid, ${key}, ${email}, ${json}::jsonb,
        COALESCE(${locale}::text, (SELECT "locale" FROM "Account" WHERE "email" = ${email})),
        at, at, at + interval '1 second' * ${ttlSeconds[kind]}::int
      FROM (SELECT ${dbNow()} AS at) AS clock
      ON CONFLICT ("kind", "email") DO UPDATE SET "attempts" = 0, "lastError" = NULL, "locale" = EXCLUDED."locale",
        "createdAt" = EXCLUDED."createdAt", "nextAttemptAt" = EXCLUDED."nextAttemptAt",
        "expiresAt" = EXCLUDED."expiresAt"`;
  };
}

/** Creates the queue. It sends nothing before the first `wake`. Rows of unknown kinds wait for a release that knows them. */
export function createEmailQueue<Data extends object>(
  deps: Deps,
  ttlSeconds: Record<keyof Data, number>,
  composers: { [Kind in keyof Data]: Compose<Data[Kind]> },
): EmailQueue<Data> {
  const queue = createLeaseQueue<Row>(deps, {
    table: "QueuedEmail",
    key: "id",
    dueAt: "nextAttemptAt",
    leaseSeconds: LEASE_SECONDS,
  });
  const isKnownKind = sql`split_part("kind", ${SEPARATOR}, 1) = ANY(${Object.keys(composers)}::text[])`;
  const { wake, close } = createConsumer({
    concurrency: MAX_CONCURRENT,
    processNext: async () => {
      const row = await queue.claim(isKnownKind);
      if (row) await deliver(deps, queue, composers, row);
      return row !== null;
    },
    onError: (error) => deps.log.warn({ err: error }, "the email queue is waiting for the database"),
  });
  return { enqueue: createEnqueueEmail<Data>(deps, ttlSeconds), wake, close };
}

async function deliver<Data extends object>(
  { log, mailer }: Deps,
  queue: Queue,
  composers: { [Kind in keyof Data]: Compose<Data[Kind]> },
  row: Row & Lease,
): Promise<void> {
  const { attempts, createdAt } = row;
  const kind = row.kind.split(SEPARATOR, 1)[0] as keyof Data & string;
  try {
    if (row.expiresAt <= row.claimedAt) log.error({ kind, attempts }, "email discarded: it expired before it was sent");
    else {
      const queued = { id: row.id, to: row.email, data: row.data as Data[typeof kind], locale: toLocale(row.locale) };
      const email = await composers[kind](queued);
      // A retry has the same id, so that the recipient's server can recognize an email that it has already.
      if (email) await mailer.send(email, `${row.id}.${createdAt.getTime()}`);
    }
    await queue.complete(row);
  } catch (error) {
    const { code, command, responseCode } = error as Record<string, unknown>;
    // Not the error itself: its message contains the recipient.
    const failure = { kind, attempts, code, command, responseCode };
    if (isPermanent(failure)) {
      log.error(failure, "email discarded: the mail server rejected it");
      return queue.complete(row);
    }
    log.warn(failure, "email not sent: it will be retried");
    const delaySeconds = backoffSeconds(RETRY_DELAYS_SECONDS, attempts);
    const lastError = describeFailure(failure);
    await queue.retry(row, delaySeconds, (dueAt) => sql`, "retryAt" = ${dueAt}, "lastError" = ${lastError}`);
  }
}

/** The codes of a failure. They contain nothing of the email, as its message would. */
function describeFailure({ code, command, responseCode }: Record<string, unknown>): string {
  const known = [code, command, responseCode].filter((each) => typeof each === "string" || typeof each === "number");
  return known.length > 0 ? known.join(" ").slice(0, MAX_ERROR_LENGTH) : "unknown";
}

/**
 * Whether the mail server rejected the recipient or the content permanently (RFC 5321, section 4.2.1). If it rejects the
 * sender, the configuration is wrong: credentials are missing, or MAIL_FROM is not ours to use.
 */
function isPermanent({ code, command, responseCode }: Record<string, unknown>): boolean {
  const isOfRecipient = code === "EENVELOPE" && command !== "MAIL FROM";
  return (isOfRecipient || code === "EMESSAGE") && typeof responseCode === "number" && responseCode >= 500;
}
