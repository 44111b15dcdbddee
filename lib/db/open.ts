import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import type { Config } from "../config";
import { isDatabaseUnavailable } from "../errors";
import { openEmbedded } from "./embedded";
import { PrismaClient } from "./generated/client";
import { applyMigrations, migrationNames, withScripts } from "./migrations";

const CONNECT_TIMEOUT_MS = 3_000;
/** A connection that has gone silent, as after a failover, is dropped with the query that noticed. */
const QUERY_TIMEOUT_MS = 10_000;
/** A transaction whose client has fallen silent lets go of its locks: longer than Prisma lets any transaction run. */
const SESSION = "-c TimeZone=UTC -c idle_in_transaction_session_timeout=15s";
const LOCK_TIMEOUT_MS = 5_000;
/** Time-outs of interactive transactions: waiting for a connection, and running. */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

export type Database = {
  client: PrismaClient;
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Whether every migration of this build is applied, as last seen; asks again while it is not. */
  migrated: () => Promise<boolean>;
  /** The names of the migrations that are not applied. */
  missingMigrations: () => Promise<string[]>;
  close: () => Promise<void>;
};

type Hooks = {
  /** A connection in the pool broke; queries that need it report for themselves. */
  onConnectionError: (error: Error) => void;
  /** The embedded database's lock is gone: going on could corrupt its files. */
  onLockLost: (error: Error) => void;
};

/**
 * Opens the embedded database and migrates it, or PostgreSQL where `DATABASE_URL` is set. PostgreSQL need
 * not be up: queries fail until it is.
 * @throws DataDirInUseError
 */
export async function openDatabase(config: Config, hooks: Hooks): Promise<Database> {
  if (!config.DATABASE_URL) {
    const { adapter, close } = await openEmbedded(config.DATA_DIR, hooks.onLockLost);
    const database = wrap(adapter, close, false);
    // The engine that applies them is large, and most starts have no use for it.
    if (!(await database.migrated())) await applyMigrations(adapter);
    return database;
  }
  return wrap(
    postgresAdapter(config.DATABASE_URL, config.DATABASE_POOL_SIZE, hooks.onConnectionError),
    async () => {},
    false,
  );
}

/** Prisma's adapter over a pool of PostgreSQL connections, with `SESSION` whatever the server's settings. */
export function postgresAdapter(url: string, poolSize: number, onError: (error: Error) => void): PrismaPg {
  return new PrismaPg(
    {
      connectionString: withSession(url, SESSION),
      max: poolSize,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      application_name: "homeport",
    },
    { onPoolError: onError, onConnectionError: onError },
  );
}

/**
 * The adapter for migrations. A migration is one transaction and may take as long as it needs, but it does not wait
 * long for a table that is in use: every other query on the table would wait behind it.
 */
export function migrationAdapter(url: string): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg({
    connectionString: withSession(url, `${SESSION} -c lock_timeout=${LOCK_TIMEOUT_MS}`),
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "homeport-migrate",
  });
  // Its own cuts the script at each semicolon, in texts and functions too, and runs the pieces one by one.
  return withScripts(factory, (adapter, script) => adapter.underlyingDriver().query(script));
}

/** In the URL, since there the driver would let somebody's own options win. */
function withSession(url: string, session: string): string {
  const parsed = new URL(url);
  parsed.searchParams.set("options", `${parsed.searchParams.get("options") ?? ""} ${session}`.trim());
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
