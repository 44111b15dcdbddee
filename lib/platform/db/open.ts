import path from "node:path";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import type { Config } from "../config";
import { isDatabaseUnavailable, isDataCorrupted, isStorageFull } from "../database-errors";
import { appliedMigrations, type CopySnapshot } from "./copy";
import { damaged } from "./embedded/failures";
import type { Embedded, EmbeddedHooks } from "./embedded/open";
import { Prisma, PrismaClient } from "./generated/client";
import { migrationNames } from "./migrations";
import { COMMAND_LIMITS, type Limits, SERVICE_LIMITS } from "./time-limits";

/** The name of Prisma's adapter for PostgreSQL servers, whose package is loaded with `DATABASE_URL` only. */
const SERVER_ADAPTER = "@prisma/adapter-pg";
/** Stands among the missing migrations while `homeport db move` copies tables into the database: keys and rows are missing. */
const UNFINISHED_MOVE = "homeport db move";
/** How long a transaction waits for a connection. */
const MAX_WAIT_MS = 5_000;

export type Database = {
  client: PrismaClient;
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Returns whether every migration of this build is applied. Queries the database until this is true. */
  migrated: () => Promise<boolean>;
  missingMigrations: () => Promise<string[]>;
  /** Returns why writes would fail, or null if they would succeed. */
  checkWrites: () => Promise<WriteFailure | null>;
  /**
   * Opens the state of this moment for a copy. Writes to PostgreSQL continue; those to the embedded database wait until it
   * is closed. @throws the database's error if it is unavailable
   */
  openSnapshot: () => Promise<CopySnapshot>;
  /** The embedded database, to move it; null on PostgreSQL. */
  embedded: Embedded | null;
  close: () => Promise<void>;
};

type Hooks = Partial<EmbeddedHooks> & {
  /** Called when a connection in the pool breaks. Queries on that connection reject separately. */
  onConnectionError: (error: Error) => void;
};

/**
 * Opens PostgreSQL if `DATABASE_URL` is set; otherwise opens the embedded database and applies its pending migrations.
 * Each is loaded only if it is used: PGlite and pg are large.
 * Succeeds while PostgreSQL is down: queries fail until it is up.
 * @throws DataDirInUseError if another process uses the embedded database; DataMovedError if its data has moved;
 * EmbeddedUnavailableError if its disk is full or its files are damaged
 */
export async function openDatabase(config: Config, hooks: Hooks, limits: Limits = SERVICE_LIMITS): Promise<Database> {
  if (!config.DATABASE_URL) return openEmbeddedDatabase(config, hooks, limits);
  const { postgresAdapter } = await import("./server/adapter");
  // Behind PgBouncer every connection has the service's time limits, which are too short for commands.
  const url = (limits === COMMAND_LIMITS && config.DATABASE_MIGRATE_URL) || config.DATABASE_URL;
  const adapter = postgresAdapter(url, config.DATABASE_POOL_SIZE, hooks.onConnectionError, limits);
  return databaseOf(adapter, serverParts(config.DATABASE_MIGRATE_URL ?? config.DATABASE_URL), false, limits);
}

async function openEmbeddedDatabase(config: Config, hooks: Hooks, limits: Limits): Promise<Database> {
  const { openEmbedded } = await import("./embedded/open");
  const { DATA_DIR } = config;
  let isOpen = false;
  const { onFatal } = hooks;
  const failing = onFatal && {
    onFatal: (error: Error): never => {
      if (isOpen) onFatal(error);
      throw error;
    },
  };
  const options = { ...hooks, ...failing, isMigrated: true };
  const embedded = await openEmbedded(DATA_DIR, config.DATABASE_SYNC === "on", options);
  const database = databaseOf(embedded.adapter, { ...embedded, embedded }, false, limits);
  try {
    const missing = await database.missingMigrations().catch((error: unknown) => {
      throw damaged(path.join(DATA_DIR, "db"), (error as Error).message, error);
    });
    if (missing.includes(UNFINISHED_MOVE))
      throw new Error(`The move into ${DATA_DIR} was interrupted. Repeat it, or remove its folder db.`);
    // Most starts have no pending migrations, and the engine that applies them is large.
    if (missing.length > 0) await migrate(embedded, missing, DATA_DIR);
    isOpen = true;
    return database;
  } catch (error) {
    await database.close().catch(() => {}); // its lock is released
    throw error;
  }
}

/** @throws Error for a database from before the first migration, which has others */
async function migrate(embedded: Embedded, missing: readonly string[], dataDir: string): Promise<void> {
  const [first = ""] = await migrationNames();
  const others = missing.includes(first) ? await appliedMigrations(embedded.copySession) : [];
  if (others.length > 0)
    throw new Error(
      `The database in ${path.join(dataDir, "db")} is of a version before 1.0.0, which this version cannot upgrade. Set DATA_DIR ` +
        "to another folder, or move this one away: the next start creates a new one.",
    );
  await embedded.migrate();
}

/** The parts of a database that its adapter lacks. */
type Parts = Pick<Database, "openSnapshot" | "close"> & { isPaused: () => boolean; embedded?: Embedded };

export function serverParts(url: string): Parts {
  const openSnapshot = async () => {
    const { openServerCopySession } = await import("./server/copy-session");
    return openServerCopySession(url, { isSnapshot: true });
  };
  return { openSnapshot, isPaused: () => false, close: async () => {} };
}

/** Returns the database of an adapter. `migrated` is true if its migrations are known to be applied. */
export function databaseOf(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  { openSnapshot, isPaused, embedded, close }: Parts,
  migrated: boolean,
  { transactionMs }: Pick<Limits, "transactionMs"> = SERVICE_LIMITS,
): Database {
  const client = new PrismaClient({ adapter, transactionOptions: { maxWait: MAX_WAIT_MS, timeout: transactionMs } });
  const query = queryOf(adapter);
  let known = migrated;
  return {
    client,
    adapter,
    migrated: async () => {
      known ||= (await missingMigrations(query)).length === 0;
      return known;
    },
    missingMigrations: () => missingMigrations(query),
    checkWrites: async () => {
      if (isPaused()) return null; // the check writes: it would wait for the end of the pause
      if (adapter.adapterName !== SERVER_ADAPTER) return checkEmbeddedWrites(query);
      const statements = [client.$queryRaw(LOCK_TIMEOUT), client.$queryRaw(WRITES_TEMPORARILY)];
      return failureOf(() => client.$transaction(statements));
    },
    openSnapshot,
    embedded: embedded ?? null,
    close: async () => {
      await client.$disconnect();
      await close();
    },
  };
}

type Query = (sql: string) => Promise<unknown[][]>;

/**
 * Returns a function that runs a statement and returns its rows as arrays. Without Prisma: its first query compiles
 * WebAssembly, for which the service would have to wait before it listens.
 */
function queryOf(adapter: SqlMigrationAwareDriverAdapterFactory): Query {
  let connection: ReturnType<typeof adapter.connect> | undefined;
  return async (sql) => {
    connection ??= adapter.connect().catch((error: unknown) => {
      connection = undefined; // the next query tries again
      throw error;
    });
    const { rows } = await (await connection).queryRaw({ sql, args: [], argTypes: [] });
    return rows;
  };
}

async function missingMigrations(query: Query): Promise<string[]> {
  const expected = await migrationNames();
  try {
    const rows = await query(
      `SELECT migration_name, to_regclass('homeport_move.move') IS NOT NULL
       FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
    );
    const applied = new Set(rows.map(([name]) => name));
    const missing = expected.filter((name) => !applied.has(name));
    const isMoving = rows[0]?.[1] === true;
    return isMoving ? [...missing, UNFINISHED_MOVE] : missing;
  } catch (error) {
    if (isDatabaseUnavailable(error) || isDataCorrupted(error)) throw error;
    return expected; // the table does not exist: no migration was applied
  }
}

/** Why writes would fail: the database is unavailable, or its storage is full. */
type WriteFailure = "database" | "storage";

/**
 * Deletes no rows. Like a write, it fails in a read-only session. Unlike a write, it assigns no transaction id and writes
 * no WAL. One table is enough for the embedded database, where no other session can lock a table.
 */
const WRITES_NOTHING = `WITH d AS (DELETE FROM "${Prisma.ModelName.RateLimit}" WHERE false) SELECT 1`;

const deletes = Object.values(Prisma.ModelName).map((table, i) => `d${i} AS (DELETE FROM "${table}" WHERE false)`);

/**
 * Deletes no rows, from every table: it fails on a standby or a read-only server, and while ALTER TABLE or CREATE INDEX
 * locks a table. Writes a temporary file of 200 kB on the server, which fails with 53100 if the disk is full.
 */
const WRITES_TEMPORARILY = Prisma.raw(
  `WITH ${deletes}, setting AS MATERIALIZED (SELECT set_config('work_mem', '64kB', true) AS memory)
   SELECT count(*) FROM setting, generate_series(1, 5000 + length(setting.memory))`,
);

/**
 * Shorter than PostgreSQL's `deadlock_timeout` of 1 s: if this check and a migration waited for each other's tables,
 * PostgreSQL could otherwise end the migration as the victim of the deadlock.
 */
const LOCK_TIMEOUT = Prisma.sql`SELECT set_config('lock_timeout', '500ms', true)`;

/** Checks whether writes to the embedded database would succeed. `query` runs a statement. */
export function checkEmbeddedWrites(query: (sql: string) => Promise<unknown>): Promise<WriteFailure | null> {
  return failureOf(() => query(WRITES_NOTHING));
}

async function failureOf(write: () => Promise<unknown>): Promise<WriteFailure | null> {
  try {
    await write();
    return null;
  } catch (error) {
    return isStorageFull(error) ? "storage" : "database";
  }
}
