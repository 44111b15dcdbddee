import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { Pool } from "pg";
import type { Config } from "../config";
import { isDatabaseUnavailable } from "../errors";
import { type EmbeddedHooks, openEmbedded } from "./embedded/open";
import { PrismaClient } from "./generated/client";
import { migrationNames, withScripts } from "./migrations";
import { type Fault, findFault } from "./readiness";

const CONNECT_TIMEOUT_MS = 3_000;

/** Time limits of a connection in milliseconds; 0 disables a limit. */
export type Timeouts = {
  /** The server cancels a statement that waits this long for a lock. Longer than a migration waits for a lock. */
  lockMs: number;
  /**
   * The server cancels a statement. Shorter than `queryMs`: when pg times out, it does not cancel the statement on the
   * server, and the ROLLBACK that is queued behind the statement times out as well.
   */
  statementMs: number;
  /** The client abandons a query and its connection, for example after a failover that left the connection open. */
  queryMs: number;
  /** The server ends an idle transaction. In the service longer than Prisma's time-out for a whole transaction. */
  idleInTransactionMs: number;
};
/** The same, with Prisma's time-out for a whole transaction. */
export type Limits = Timeouts & { transactionMs: number };
/** Of the service and the worker: clients and proxies wait no longer. */
export const SERVICE: Limits = {
  lockMs: 5_000,
  statementMs: 8_000,
  queryMs: 10_000,
  transactionMs: 10_000,
  idleInTransactionMs: 15_000,
};
/** Of commands, which an operator can interrupt, and which may read or delete millions of rows. */
export const COMMAND: Limits = {
  lockMs: 5_000,
  statementMs: 600_000,
  queryMs: 610_000,
  transactionMs: 610_000,
  idleInTransactionMs: 60_000,
};
/** Maximum time that a migration waits for a locked table. */
const MIGRATION_LOCK_MS = 3_000;
/** How long a transaction waits for a connection. */
const MAX_WAIT_MS = 5_000;

export type Database = {
  client: PrismaClient;
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Returns whether every migration of this build is applied. Queries the database until this is true. */
  migrated: () => Promise<boolean>;
  /** The names of the migrations that are not applied. */
  missingMigrations: () => Promise<string[]>;
  /** Returns why writes would fail, or null if they would succeed. */
  findFault: () => Promise<Fault>;
  close: () => Promise<void>;
};

type Hooks = Partial<EmbeddedHooks> & {
  /** Called when a connection in the pool breaks. Queries on that connection reject separately. */
  onConnectionError: (error: Error) => void;
};

/**
 * Opens PostgreSQL if `DATABASE_URL` is set; otherwise opens the embedded database and applies its pending migrations.
 * Succeeds while PostgreSQL is down: queries fail until it is up.
 * @throws DataDirInUseError if another process uses the embedded database
 */
export async function openDatabase(config: Config, hooks: Hooks, limits: Limits = SERVICE): Promise<Database> {
  if (!config.DATABASE_URL) {
    const { adapter, migrate, close } = await openEmbedded(config.DATA_DIR, config.DATABASE_SYNC === "on", hooks);
    const database = wrap(adapter, close, false, limits);
    // Most starts have no pending migrations, and the engine that applies them is large.
    if (!(await database.migrated())) await migrate();
    return database;
  }
  const { DATABASE_URL, DATABASE_POOL_SIZE } = config;
  const adapter = postgresAdapter(DATABASE_URL, DATABASE_POOL_SIZE, hooks.onConnectionError, limits);
  return wrap(adapter, async () => {}, false, limits);
}

/**
 * Returns Prisma's adapter over a pool of PostgreSQL connections, with `timeouts` and UTC regardless of the server's
 * settings. The pool closes a connection that is released inside a transaction, for example because its ROLLBACK was
 * never sent: the next user's writes would join that transaction and be lost after they were acknowledged.
 */
export function postgresAdapter(
  url: string,
  poolSize: number,
  onError: (error: Error) => void,
  timeouts: Timeouts = SERVICE,
): PrismaPg {
  const pool = new Pool({
    connectionString: withSession(url, {
      lock_timeout: timeouts.lockMs,
      statement_timeout: timeouts.statementMs,
      idle_in_transaction_session_timeout: timeouts.idleInTransactionMs,
    }),
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: timeouts.queryMs,
    keepAlive: true,
    application_name: "homeport",
  });
  // The server's last reported status. It stays "in a transaction" while a query of the transaction runs.
  pool.on("release", (_, client) => void (client.getTransactionStatus() === "I" || client.end()));
  return new PrismaPg(pool, { onPoolError: onError, onConnectionError: onError, disposeExternalPool: true });
}

/**
 * Returns the adapter for migrations. A migration is one transaction without a time limit, but it does not wait long
 * for a locked table, because every other query on the table would queue behind it. `record` is SQL that is appended to
 * each migration and runs in the same transaction.
 */
export function migrationAdapter(url: string, record = ""): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg({
    connectionString: withSession(url, {
      lock_timeout: MIGRATION_LOCK_MS,
      statement_timeout: 0,
      idle_in_transaction_session_timeout: SERVICE.idleInTransactionMs,
    }),
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "homeport-migrate",
  });
  // The adapter's `executeScript` splits the script at every semicolon, even in string literals and function bodies.
  return withScripts(factory, (adapter, script) => adapter.underlyingDriver().query(script + record));
}

/**
 * Returns `url` with settings for each session; times are in milliseconds. They are appended to the URL's own
 * `options`, which replace the `options` in pg's configuration.
 */
export function withSession(url: string, settings: Record<string, number>): string {
  const parsed = new URL(url);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const given = parsed.searchParams.get("options") ?? "";
  parsed.searchParams.set("options", [given, "-c TimeZone=UTC", ...options].join(" ").trim());
  return parsed.href;
}

/** Opens a database over an adapter. `migrated` is true if its migrations are known to be applied. */
export function wrap(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  closeAdapter: () => Promise<void>,
  migrated: boolean,
  { transactionMs }: Pick<Limits, "transactionMs"> = SERVICE,
): Database {
  const client = new PrismaClient({ adapter, transactionOptions: { maxWait: MAX_WAIT_MS, timeout: transactionMs } });
  let known = migrated;
  return {
    client,
    adapter,
    migrated: async () => {
      known ||= (await missingMigrations(client)).length === 0;
      return known;
    },
    missingMigrations: () => missingMigrations(client),
    findFault: () => findFault(client, adapter instanceof PrismaPg),
    close: async () => {
      await client.$disconnect();
      await closeAdapter();
    },
  };
}

async function missingMigrations(client: PrismaClient): Promise<string[]> {
  const wanted = await migrationNames();
  try {
    const rows = await client.$queryRaw<{ name: string }[]>`
      SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
    const applied = new Set(rows.map((row) => row.name));
    return wanted.filter((name) => !applied.has(name));
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    return wanted; // the table does not exist: no migration was applied
  }
}
