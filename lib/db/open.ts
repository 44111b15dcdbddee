import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import type { Config } from "../config";
import { isDatabaseUnavailable } from "../errors";
import { openEmbedded } from "./embedded";
import { PrismaClient } from "./generated/client";
import { applyMigrations, migrationNames } from "./migrations";

const CONNECT_TIMEOUT_MS = 3_000;
/** Time-outs of interactive transactions: waiting for a connection, and running. */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

export type Database = {
  client: PrismaClient;
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Whether every migration of this build is applied, as last seen; asks again while it is not. */
  migrated: () => Promise<boolean>;
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
    await applyMigrations(adapter);
    return wrap(adapter, close, true);
  }
  return wrap(
    postgresAdapter(config.DATABASE_URL, config.DATABASE_POOL_SIZE, hooks.onConnectionError),
    async () => {},
    false,
  );
}

/** Prisma's adapter over a pool of PostgreSQL connections, in UTC whatever the server's setting. */
export function postgresAdapter(url: string, poolSize: number, onError: (error: Error) => void): PrismaPg {
  return new PrismaPg(
    {
      connectionString: url,
      max: poolSize,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      options: "-c TimeZone=UTC",
      application_name: "homeport",
    },
    { onPoolError: onError, onConnectionError: onError },
  );
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
      known ||= await isMigrated(client);
      return known;
    },
    close: async () => {
      await client.$disconnect();
      await closeAdapter();
    },
  };
}

async function isMigrated(client: PrismaClient): Promise<boolean> {
  const wanted = await migrationNames();
  try {
    const rows = await client.$queryRaw<{ name: string }[]>`
      SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
    const applied = new Set(rows.map((row) => row.name));
    return wanted.every((name) => applied.has(name));
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    return false; // no such table: nothing was ever applied
  }
}
