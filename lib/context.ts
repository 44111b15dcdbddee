import type { Logger } from "pino";
import type { AppAttestApi } from "./platform/adapters/app-attest-api";
import type { BillingApis } from "./platform/adapters/billing-sources";
import type { BreachLookup } from "./platform/adapters/breach-lookup";
import type { Mailer } from "./platform/adapters/mailers";
import type {
  EndpointNotAllowed,
  PushResponse,
  PushTransport,
  WebPushKeys,
  WebPushTransport,
} from "./platform/adapters/push-transport";
import type { ObjectStorage } from "./platform/adapters/s3";
import type { Config } from "./platform/config";
import type { Prisma, PrismaClient } from "./platform/db/generated/client";
import type { Database } from "./platform/db/open";
import type { Consumer } from "./platform/db/queue";
import type { Tx } from "./platform/db/transaction";
import type { EmailData } from "./platform/mail/emails";
import type { EmailQueue } from "./platform/mail/queue";
import type { RateLimits } from "./platform/rate-limits";
import type { AccessRule, AnyPrincipal, Caller, OperatorName, Principal } from "./principal";

export type { EndpointNotAllowed, PushResponse, Tx, WebPushKeys };

/**
 * The parts of the service. Functions take the part they need: `Pick<Context, "db" | "now">`. An interface, because
 * lib/compose.ts adds the parts whose types lie in a domain.
 */
export interface Context {
  config: Config & { secrets: NonNullable<Config["secrets"]> };
  /** Readiness, migrations and closing. */
  database: Database;
  db: PrismaClient;
  /** This process's clock. */
  now: () => Date;
  /** The database's clock, as SQL, for times that several processes compare. */
  dbNow: () => Prisma.Sql;
  log: Logger;
  limits: RateLimits;
  authentication: Authentication;
  hasher: Hasher;
  breaches: BreachLookup;
  mailer: Mailer;
  emails: EmailQueue<EmailData>;
  /** Null: APNs is not configured. */
  push: PushTransport | null;
  /** Sends to the push services of browsers. */
  webPush: WebPushTransport;
  /** Makes this process's worker read the outbox at once. Does nothing if it has no worker. */
  wakePush: () => void;
  /** Removes the devices of ended sessions, or of an account, in the transaction that ends them. */
  removeDevices: (tx: Tx, of: { accountId: string } | { sessionIds: string[] }) => Promise<void>;
  /** Finds the accounts, among those given, for which an entitlement is active. */
  entitledAccounts: (db: Tx, accountIds: readonly string[], entitlement: string) => Promise<Set<string>>;
  /** Records that a parent has withdrawn the consent to these accounts, and suspends them if the configuration says so. */
  withdrawConsent: (
    deps: Pick<Context, "now" | "removeDevices" | "webhooks"> & { config: Pick<Config, "CONSENT_WITHDRAWAL_SUSPENDS"> },
    tx: Tx,
    accountIds: readonly string[],
    withdrawnAt: Date,
  ) => Promise<void>;
  /** Fetches a small text by a URL whose host the caller has checked. @throws Error */
  fetchText: (url: string) => Promise<string>;
  /** The APIs of the billing providers. */
  billing: BillingApis;
  /** App Attest's data service. Null: there is no key. */
  appAttest: AppAttestApi | null;
  /** Asks Apple to revoke the tokens of deleted accounts, in the background. */
  appleRevocations: Consumer;
  /** Reconciles what is due with the billing providers, in the background. */
  reconciler: Consumer;
  /** The key of commands on this machine, which act through the service. Null on PostgreSQL: they need no service. */
  operatorKey: OperatorKey | null;
  /** Storage of `s3Key` artifacts. Null: it is not configured, and the catalog has no such artifacts. */
  storage: ObjectStorage | null;
  /** Records a finished request. `request` has the caller's span for traces; null: Next has traced the request. */
  observe: (record: RequestRecord, request: { headers: Pick<Headers, "get" | "has"> } | null) => void;
  /** Increments a metric. Does nothing if metrics are off. */
  count: <Name extends keyof Counts>(name: Name, labels: Counts[Name]) => void;
  /** True once the process has begun to stop. */
  isDraining: boolean;
  close: () => Promise<void>;
}

/** How the pipeline of lib/platform/http knows who sends a request. */
type Authentication = {
  /** @throws AppError unauthenticated, origin_not_allowed, forbidden, reauthentication_required, rate_limited */
  authenticate: (ctx: Context, request: AuthenticatedRequest, rule: AccessRule) => Promise<AnyPrincipal>;
  /** @throws AppError reauthentication_required unless the session was authenticated recently */
  requireStepUp: (ctx: Context, principal: Principal, caller: Caller) => Promise<void>;
  hasKeyInUrl: (url: string) => boolean;
  /** Revokes the API keys in a URL. @throws AppError key_in_url, always */
  revokeKeyInUrl: (ctx: Context, url: string, caller: Caller) => Promise<never>;
};

/** The parts of a request that say who sends it. `operator`: a command's process dispatches it for this person. */
type AuthenticatedRequest = {
  method: string;
  headers: { get: (name: string) => string | null; has: (name: string) => boolean };
  socketIp: string | undefined;
  operator: OperatorName | undefined;
  hasSideEffect: true | undefined;
};

/**
 * The key for local commands, random at each start. Only this process knows it, and those who can read
 * `DATA_DIR/operator.json`: anyone who can read the data folder owns the service.
 */
export type OperatorKey = {
  text: string;
  /** Whether a text is the key, in constant time. Always false after `revoke`. */
  matches: (text: string) => boolean;
  /** Until the next start nobody has access by the key. */
  revoke: () => void;
};

/** Password hashes on worker threads, so that it does not block the event loop. */
export type Hasher = {
  /** @throws AppError overloaded; unavailable after `close` */
  hash: (password: string, cost: number) => Promise<string>;
  /** Whether the password matches the hash. @throws AppError overloaded; unavailable after `close`; Error for a malformed hash */
  compare: (password: string, hash: string) => Promise<boolean>;
  isBusy: () => boolean;
  /** Ends the threads, and rejects running and waiting tasks. */
  close: () => Promise<void>;
};

/** A finished request, without text from the caller. `route` is the pattern, `ms` the time until the response. */
export type RequestRecord = {
  requestId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  accountId?: string;
  /** Of the API key. */
  keyId?: string;
  publisherId?: string;
  /** Who ran a command on this machine. */
  operator?: string;
};

/** The counters and their labels. Each label has a small, fixed set of values. */
export type Counts = {
  billing_event: { type: string; state: string };
  billing_recovered: { provider: string; events: number };
  billing_reconcile: { provider: string; outcome: "corrected" | "unchanged" | "limited" | "failed" };
  push_delivery: { result: "sent" | "failed" | "cancelled" | "retried" };
};

/** A global: the server's bundle has this module, and Next's build of the pages has it again. */
const SLOT = Symbol.for("homeport.context");
const holder = globalThis as { [SLOT]?: Context };

/** The process's context. @throws Error before `composeContext` has run. */
export function currentContext(): Context {
  const context = holder[SLOT];
  if (!context) throw new Error("The context is not composed yet");
  return context;
}

export function setContext(context: Context | undefined): void {
  holder[SLOT] = context;
}

export function hasContext(): boolean {
  return holder[SLOT] !== undefined;
}
