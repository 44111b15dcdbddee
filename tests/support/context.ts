import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect } from "vitest";
import { authority, TEAM_ID } from "@/dev/app-attest/app-attest";
import { composeContext } from "@/lib/compose";
import { type Context, currentContext, hasContext, setContext } from "@/lib/context";
import { loadConfig } from "@/lib/platform/config";
import type { LimitName } from "@/lib/platform/rate-limits";
import { BASE_URL } from "./base-url";
import { clock } from "./clock";
import { openTestDatabase, postgresUrl } from "./database";
import { mailbox } from "./mailbox";
import { PUSH_SERVICE_SETTINGS } from "./push/browser";
import { callsHandlers } from "./server";

export { BASE_URL, clock };
export const WEBHOOK_SECRET = "test-webhook-signing-secret-of-32-bytes";
export const WEBHOOK_AUTHORIZATION = "Bearer test-webhook-authorization";

/** The secret of the service under test. */
export const SECRET = "a-secret-for-tests-that-is-long-enough";

/** The lowest that bcrypt takes, and less than the configuration allows: most tests make an account. */
const MIN_BCRYPT_COST = 4;

/** An app with every kind of redirect URI, and one without a browser. */
const OAUTH_CLIENTS = [
  {
    id: "desktop",
    name: "Acme Desktop",
    redirectUris: [
      "http://127.0.0.1/callback",
      "http://[::1]/callback",
      "com.example.acme:/callback",
      "https://app.example.com/callback?from=acme",
    ],
  },
  { id: "other", name: "Another app", redirectUris: ["http://127.0.0.1/callback"] },
  { id: "cli", name: "Acme CLI", redirectUris: [] },
];

/** Composes the worker's context once: real database, real SMTP, files for push. */
export async function openTestContext(): Promise<void> {
  if (hasContext()) return;
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-test-"));
  const given = loadConfig({
    DATA_DIR: folder,
    BACKUP_TO: path.join(folder, "backups"),
    NEXTAUTH_URL: BASE_URL,
    TRUSTED_PROXY_HOPS: callsHandlers ? "0" : "1",
    NEXTAUTH_SECRET: SECRET,
    OAUTH_CLIENTS: JSON.stringify(OAUTH_CLIENTS),
    PUSH_WORKER: "off", // tests say when it works: deliverDue
    SMTP_URL: await mailbox.start(),
    BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET,
    BILLING_WEBHOOK_AUTHORIZATION: WEBHOOK_AUTHORIZATION,
    APNS_TEAM_ID: TEAM_ID,
    ...PUSH_SERVICE_SETTINGS,
    APP_ATTEST_ROOT_CA: authority.rootPem,
  });
  const config = { ...given, BCRYPT_COST: MIN_BCRYPT_COST };
  const database = await openTestDatabase(folder);
  setContext(
    await composeContext(config, {
      database,
      now: clock.now,
      dbNow: clock.dbNow,
      log: pino({ level: "silent" }),
      // On PostgreSQL, a query beside a test's transaction stands for another process.
      checksTransactions: database.embedded !== null,
    }),
  );
}

/** The worker's context. */
export const ctx = (): Context => currentContext();

type ContextChange = Omit<Partial<Context>, "config"> & { config?: Partial<Context["config"]> };

/** Replaces parts of the context. Returns the context before. */
function changeContext({ config, ...change }: ContextChange): Context {
  const usual = currentContext();
  setContext({ ...usual, ...change, config: { ...usual.config, ...config } });
  return usual;
}

const isPartOf = (part: object, whole: object) =>
  Object.entries(part).every(([name, value]) => (whole as Record<string, unknown>)[name] === value);

/** Replaces parts of the context for the tests of a file or of a block. */
export function setUpContext(change: ContextChange): void {
  let usual: Context;
  beforeAll(() => {
    usual = changeContext(change);
  });
  afterAll(() => setContext(usual));
}

/**
 * Runs `run` with parts of the context replaced, as another configuration or time would have them. Parts that are so already
 * may be asked for by several calls at once.
 *
 * @throws {Error} Where another call has begun meanwhile and not ended: one of the two would last for all later tests.
 */
export async function withContext<T>(change: ContextChange, run: () => Promise<T>): Promise<T> {
  const { config = {}, ...rest } = change;
  if (isPartOf(rest, ctx()) && isPartOf(config, ctx().config)) return run();
  const usual = changeContext(change);
  const changed = currentContext();
  try {
    return await run();
  } finally {
    const isAlone = currentContext() === changed;
    setContext(usual);
    if (!isAlone) expect.unreachable("calls of withContext overlap");
  }
}

/** Uses a rate limit so many times. */
export async function useUp(limit: LimitName, key: string, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => ctx().limits.consume(limit, key)));
}

const UNREACHABLE = Object.assign(new Error("Can't reach database server"), { code: "P1001" });

/** The database, which fails whenever it is used, or only where a transaction begins. */
export function failingDatabase(error: Error = UNREACHABLE, only?: "$transaction"): Context["db"] {
  return new Proxy(ctx().db, {
    get: (target, name) => {
      if (only === undefined || name === only) throw error;
      return Reflect.get(target, name);
    },
  });
}

/** The database, which can be read, but begins no transaction. */
export const databaseWithoutTransactions = () => failingDatabase(UNREACHABLE, "$transaction");

/** The database, whose first transaction or statement of this kind begins after `run`, which stands for another request. */
export function databaseAfter(
  run: () => Promise<unknown>,
  first: "$transaction" | "$executeRaw" = "$transaction",
): Context["db"] {
  const { db } = ctx();
  let hasRun = false;
  const begin = async (...given: unknown[]) => {
    const isFirst = !hasRun;
    hasRun = true;
    if (isFirst) await run();
    return Reflect.apply(db[first], db, given);
  };
  return new Proxy(db, { get: (target, name) => (name === first ? begin : Reflect.get(target, name)) });
}

/** The tables whose rows the tests of another file would notice. */
const EMPTIED = `"Account", "BillingEvent", "Purchase", "RateLimitCounter", "SignInThrottle", "QueuedEmail", "PushPause",
  "BillingReconcileJob", "BillingApiPause", "BillingSweep", "SigningKey", "WebhookEndpoint"`;

/**
 * Deletes the rows of these tables, and of all that refer to them. TRUNCATE replaces the files of every table and index,
 * which takes PGlite a fifth of a second. No foreign key has to be checked: the tables that refer to a row are emptied, too.
 */
const DELETE_ALL = `DO $$ DECLARE emptied regclass; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR emptied IN
    WITH RECURSIVE reached AS (
      SELECT name::regclass::oid AS id FROM string_to_table('${EMPTIED}', ',') AS name
      UNION SELECT conrelid FROM pg_constraint JOIN reached ON confrelid = id WHERE contype = 'f')
    SELECT id FROM reached WHERE pg_relation_size(id) > 0
  LOOP
    EXECUTE 'DELETE FROM ' || emptied;
  END LOOP;
END $$`;

/** Empties the tables. On a server, tests examine plans, which would differ for tables that were large. */
export async function emptyTables(): Promise<void> {
  await ctx().db.$executeRawUnsafe(postgresUrl ? `TRUNCATE ${EMPTIED} CASCADE` : DELETE_ALL);
}
