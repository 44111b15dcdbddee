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

/** Bounds on a connection's time, in milliseconds; 0 disables one. */
export type Timeouts = {
  /** The server ends a statement that waits this long for a lock. Longer than a migration waits for one. */
  lockMs: number;
  /**
   * The server ends a statement. Sooner than the client gives it up: pg cancels nothing on the server, and drops the
   * ROLLBACK that waits behind the statement as long again.
   */
  statementMs: number;
  /** The client gives up a query, and with it a connection that has gone silent, as after a failover. */
  queryMs: number;
  /** The server ends a transaction whose client has fallen silent. Longer than Prisma lets any transaction run. */
  idleInTransactionMs: number;
};
const TIMEOUTS: Timeouts = { lockMs: 5_000, statementMs: 8_000, queryMs: 10_000, idleInTransactionMs: 15_000 };
/** How long a migration waits for a table that is in use. */
const MIGRATION_LOCK_MS = 3_000;
/** Time-outs of interactive transactions: waiting for a connection, and running. */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

export type Database = {
  client: PrismaClient;
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Whether every migration of this build is applied, as last seen; asks again while it is not. */
  migrated: () => Promise<boolean>;
  /** The names of the migrations that are not applied. */
  missingMigrations: () => Promise<string[]>;
  /** What stands in the way of writes; null where nothing does. */
  findFault: () => Promise<Fault>;
  close: () => Promise<void>;
};

type Hooks = Partial<EmbeddedHooks> & {
  /** A connection in the pool broke; queries that need it report for themselves. */
  onConnectionError: (error: Error) => void;
};

/**
 * Opens the embedded database and migrates it, or PostgreSQL where `DATABASE_URL` is set. PostgreSQL need
 * not be up: queries fail until it is.
 * @throws DataDirInUseError
 */
export async function openDatabase(config: Config, hooks: Hooks): Promise<Database> {
  if (!config.DATABASE_URL) {
    const { adapter, migrate, close } = await openEmbedded(config.DATA_DIR, config.DATABASE_SYNC === "on", hooks);
    const database = wrap(adapter, close, false);
    // The engine that applies them is large, and most starts have no use for it.
    if (!(await database.migrated())) await migrate();
    return database;
  }
  return wrap(
    postgresAdapter(config.DATABASE_URL, config.DATABASE_POOL_SIZE, hooks.onConnectionError),
    async () => {},
    false,
  );
}

/**
 * Prisma's adapter over a pool of PostgreSQL connections, with `timeouts` and UTC whatever the server's settings.
 * The pool ends a client that comes back inside a transaction, as after a ROLLBACK that was never sent: the next
 * borrower's writes would be part of that transaction, acknowledged and then lost.
 */
export function postgresAdapter(
  url: string,
  poolSize: number,
  onError: (error: Error) => void,
  timeouts: Timeouts = TIMEOUTS,
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
  // The status is the last that the server reported: it stays "in a transaction" while a query there is under way.
  pool.on("release", (_, client) => void (client.getTransactionStatus() === "I" || client.end()));
  return new PrismaPg(pool, { onPoolError: onError, onConnectionError: onError, disposeExternalPool: true });
}

/**
 * The adapter for migrations. A migration is one transaction and may take as long as it needs, but it does not wait
 * long for a table that is in use: every other query on the table would wait behind it. `record` is SQL that ends each
 * migration, in the same transaction.
 */
export function migrationAdapter(url: string, record = ""): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg({
    connectionString: withSession(url, {
      lock_timeout: MIGRATION_LOCK_MS,
      statement_timeout: 0,
      idle_in_transaction_session_timeout: TIMEOUTS.idleInTransactionMs,
    }),
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "homeport-migrate",
  });
  // Its own cuts the script at each semicolon, in texts and functions too, and runs the pieces one by one.
  return withScripts(factory, (adapter, script) => adapter.underlyingDriver().query(script + record));
}

/** Settings of each session, times in milliseconds. In the URL, since there the driver would let somebody's own options win. */
export function withSession(url: string, settings: Record<string, number>): string {
  const parsed = new URL(url);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const given = parsed.searchParams.get("options") ?? "";
  parsed.searchParams.set("options", [given, "-c TimeZone=UTC", ...options].join(" ").trim());
  return parsed.href;
}

/** Wraps an adapter. `migrated` says whether its migrations are known to be applied. */
export function wrap(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  closeAdapter: () => Promise<void>,
  migrated: boolean,
): Database {
  const client = new PrismaClient({ adapter, transactionOptions: TRANSACTION });
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
    return wanted; // no such table: nothing was ever applied
  }
}
