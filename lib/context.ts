import type { Logger } from "pino";

import type { BillingApi } from "./adapters/billing-api";
import type { BreachLookup } from "./adapters/breach-lookup";
import type { Mailer } from "./adapters/mailer";
import type { ObjectStorage } from "./adapters/object-storage";
import type { PushTransport } from "./adapters/push-transport";
import type { Hasher } from "./auth/passwords/hasher";
import type { Config } from "./config";
import type { Prisma, PrismaClient } from "./db/generated/client";
import type { Database } from "./db/open";
import type { RateLimits } from "./http/rate-limits";
import type { RequestHead } from "./http/route-request";
import type { EmailKind } from "./mail/emails";
import type { EmailQueue } from "./mail/queue";
import type { Catalog } from "./releases/catalog/watch";
import type { Reconciler } from "./subscriptions/reconcile/reconciler";

/** What the service is made of. Functions take the part they need: `Pick<Context, "db" | "now">`. */
export type Context = {
  config: Config & { secret: string };
  /** The database as a whole: its readiness and its end. */
  database: Database;
  db: PrismaClient;
  /** This process's clock. */
  now: () => Date;
  /** The database's clock, as SQL: what processes have to agree on is timed by it. */
  dbNow: () => Prisma.Sql;
  log: Logger;
  limits: RateLimits;
  hasher: Hasher;
  breaches: BreachLookup;
  mailer: Mailer;
  emails: EmailQueue<EmailKind>;
  /** null: push is not configured. */
  push: PushTransport | null;
  /** Has this process's worker look into the outbox at once; does nothing where there is none. */
  wakePush: () => void;
  /** Removes the devices of ended sessions, or of an account, in the transaction that ends them. */
  removeDevices: (tx: Tx, of: { accountId: string } | { sessionIds: string[] }) => Promise<void>;
  /** The billing provider's own API; null: it is not to be asked. */
  billing: BillingApi | null;
  /** Asks it about the customers that are due, in the background. */
  reconciler: Reconciler;
  catalog: Catalog;
  /** Where `s3Key` artifacts lie; null: it is not configured, and the catalog has none of them. */
  storage: ObjectStorage | null;
  /**
   * Hears of every request that was answered. `request` is for traces alone: it names the caller's span. null: Next
   * has traced it.
   */
  observe: (record: RequestRecord, request: Pick<RequestHead, "headers"> | null) => void;
  /** Counts what happened, for the metrics. Does nothing where they are off. */
  count: <Name extends keyof Counts>(name: Name, labels: Counts[Name]) => void;
  /** Set once the process has begun to stop. */
  draining: boolean;
  close: () => Promise<void>;
};

/** One answered request, without anything that a caller wrote. `route` is the pattern, `ms` until the answer. */
export type RequestRecord = {
  requestId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  accountId?: string;
};

/** What is counted, and by which labels. Each label has few values, whatever callers send. */
export type Counts = {
  billing_event: { type: string; state: string };
  push_delivery: { result: "sent" | "failed" | "cancelled" | "retried" };
};

/** The client inside a transaction. A query on anything else in there would wait for ever on PGlite. */
export type Tx = Prisma.TransactionClient;

/** Next may load this module more than once in a process, and the front door once more. */
const SLOT = Symbol.for("homeport.context");
const holder = globalThis as { [SLOT]?: Context };

/** The process's context. @throws Error before `composeContext` has run. */
export function currentContext(): Context {
  const context = holder[SLOT];
  if (!context) throw new Error("The context is not composed yet");
  return context;
}

/** Makes a context the process's own, or takes it away. */
export function setContext(context: Context | undefined): void {
  holder[SLOT] = context;
}

/** Whether there is a context already. */
export function hasContext(): boolean {
  return holder[SLOT] !== undefined;
}
