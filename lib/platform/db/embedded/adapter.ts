import { setTimeout as delay } from "node:timers/promises";
import type { Transaction as PGliteTransaction } from "@electric-sql/pglite";
import type {
  IsolationLevel,
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  Transaction,
} from "@prisma/driver-adapter-utils";
import type { PgliteClient } from "./client";
import { toDriverError } from "./driver-error";
import { PAUSED } from "./failures";
import { columnTypeOf, PARSERS, toValue } from "./values";

const NAMES = { provider: "postgres", adapterName: "pglite" } as const;

/** Hooks around each statement and transaction. */
export type StatementHooks = {
  /** Called before it is sent. */
  before: () => void;
  /** Called before its result is returned. After an error too: it can reveal what other transactions have committed. */
  after: () => Promise<void>;
  /** Maps an error of the database to the error that the caller receives. */
  errorOf: (error: unknown) => unknown;
  /** Resolves at the end of the pause of writes; null if writes are not paused. Transactions start after it. */
  pause: () => Promise<void> | null;
  /** Returns whether a statement failed only because writes were paused. It is repeated after the pause. */
  isFromPause: (error: unknown) => boolean;
};

/** Maximum attempts of a statement that meets one pause after another. */
const MAX_ATTEMPTS = 10;
/** How long a statement or transaction waits for the end of a pause. */
const MAX_PAUSE_WAIT_MS = 5_000;

/** Hooks that change nothing. */
export const NO_HOOKS: StatementHooks = {
  before: () => {},
  after: async () => {},
  errorOf: (error) => error,
  pause: () => null,
  isFromPause: () => false,
};

/** Returns Prisma's adapter over a PGlite. It reads every time as UTC, so the session uses UTC. */
export async function embeddedAdapter(
  pglite: PgliteClient,
  hooks = NO_HOOKS,
): Promise<SqlMigrationAwareDriverAdapterFactory> {
  await pglite.exec("SET TIME ZONE 'UTC'");
  const run: Run = (send) => runOutsideTransaction(hooks, send);
  const adapter: SqlDriverAdapter = {
    ...queryableOf(pglite, run),
    executeScript: (script) => run(async () => void (await pglite.exec(script))),
    startTransaction: (level) => startTransaction(pglite, hooks, level),
    getConnectionInfo: () => ({ supportsRelationJoins: true }),
    dispose: async () => {},
  };
  return {
    ...NAMES,
    connect: async () => adapter,
    connectToShadowDb: () => Promise.reject(new Error("The embedded database has no shadow database")),
  };
}

type Run = <T>(send: () => Promise<T>) => Promise<T>;

function queryableOf(client: Pick<PgliteClient, "query">, run: Run): SqlQueryable {
  return {
    ...NAMES,
    queryRaw: (query) =>
      run(async () => {
        const { fields, rows } = await send(client, query);
        const columnTypes = fields.map(({ dataTypeID }) => columnTypeOf(dataTypeID));
        return { columnNames: fields.map(({ name }) => name), columnTypes, rows };
      }),
    executeRaw: (query) => run(async () => (await send(client, query)).affectedRows ?? 0),
  };
}

/** @throws DriverAdapterError for an error of the database */
async function send(client: Pick<PgliteClient, "query">, { sql, args, argTypes }: SqlQuery) {
  const values = args.map((argument, index) => toValue(argument, argTypes[index]));
  try {
    return await client.query<unknown[]>(sql, values, { rowMode: "array", parsers: PARSERS });
  } catch (error) {
    throw toDriverError(error);
  }
}

/**
 * Runs a statement. If it writes while writes are paused, it waits and runs again: nothing of it was applied.
 * @throws the error of a read-only database after `MAX_PAUSE_WAIT_MS`
 */
async function runOutsideTransaction<T>(hooks: StatementHooks, send: () => Promise<T>): Promise<T> {
  const until = performance.now() + MAX_PAUSE_WAIT_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runWithHooks(hooks, send);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !hooks.isFromPause(error)) throw error;
      if (!(await pauseEnds(hooks, until))) throw error;
    }
  }
}

/** Waits for the end of the pause, if there is one. Returns false if it does not end until a time of `performance.now()`. */
async function pauseEnds({ pause }: Pick<StatementHooks, "pause">, until: number): Promise<boolean> {
  const remainingMs = until - performance.now();
  if (remainingMs <= 0) return false;
  const ended = new AbortController();
  const timeout = delay(remainingMs, false, { signal: ended.signal }).catch(() => false);
  return Promise.race([Promise.resolve(pause()).then(() => true), timeout]).finally(() => ended.abort());
}

export async function runWithHooks<T>(
  { before, after, errorOf }: Pick<StatementHooks, "before" | "after" | "errorOf">,
  send: () => Promise<T>,
): Promise<T> {
  before();
  try {
    return await send();
  } catch (error) {
    throw errorOf(error);
  } finally {
    await after();
  }
}

/** Starts a transaction. `commit` rejects if COMMIT fails; `commit` and `rollback` resolve after the `after` hook. */
async function startTransaction(
  pglite: PgliteClient,
  hooks: StatementHooks,
  level: IsolationLevel | undefined,
): Promise<Transaction> {
  // A part of a transaction cannot be repeated. Another pause may begin before this one's end is noticed.
  const until = performance.now() + MAX_PAUSE_WAIT_MS;
  while (hooks.pause()) if (!(await pauseEnds(hooks, until))) throw PAUSED;
  hooks.before();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let outcome: Promise<void> | undefined;
  const started = new Promise<PGliteTransaction>((resolve, reject) => {
    outcome = pglite.transaction(async (tx) => {
      if (level) await tx.exec(`SET TRANSACTION ISOLATION LEVEL ${level}`);
      resolve(tx);
      await ended;
    });
    outcome.catch(reject); // if it fails to start; `commit` reports later errors
  });
  const tx = await started;
  const finish = async () => {
    end();
    await outcome;
  };
  const within = { ...hooks, before: () => {} };
  const run: Run = (send) => runWithHooks({ ...within, after: async () => {} }, send);
  const exec = (sql: string) => run(async () => void (await tx.exec(sql)));
  return {
    ...queryableOf(tx, run),
    options: { usePhantomQuery: true },
    commit: () => runWithHooks(within, finish),
    rollback: () => runWithHooks(within, () => tx.rollback().then(finish)),
    createSavepoint: (name) => exec(`SAVEPOINT ${name}`),
    rollbackToSavepoint: (name) => exec(`ROLLBACK TO SAVEPOINT ${name}`),
    releaseSavepoint: (name) => exec(`RELEASE SAVEPOINT ${name}`),
  };
}
