import type { PGlite, Transaction as PGliteTransaction } from "@electric-sql/pglite";
import type {
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  Transaction,
} from "@prisma/driver-adapter-utils";
import { PrismaPGlite } from "pglite-prisma-adapter";
import { withScripts } from "../migrations";

type IsolationLevel = Parameters<SqlDriverAdapter["startTransaction"]>[0];

const NAMES = { provider: "postgres", adapterName: "pglite-prisma-adapter" } as const;

/** What happens around each statement and transaction. */
export type Around = {
  /** Before it is sent. */
  before: () => void;
  /** After it has succeeded or failed, and before anybody hears of it: a failure too tells what others have committed. */
  after: () => Promise<void>;
  /** What an error of the database's means to the caller. */
  errorOf: (error: unknown) => unknown;
};

const NOTHING: Around = { before: () => {}, after: async () => {}, errorOf: (error) => error };

/**
 * Prisma's adapter over a PGlite. Its own `executeScript` neither waits nor reports, so a migration that fails would count
 * as applied; its transactions report no failed COMMIT; and it takes every time for UTC, so the session has to be.
 */
export async function embeddedAdapter(
  pglite: PGlite,
  around = NOTHING,
): Promise<SqlMigrationAwareDriverAdapterFactory> {
  await pglite.exec("SET TIME ZONE 'UTC'");
  const factory = new PrismaPGlite(pglite);
  const run = <T>(send: () => Promise<T>) => runAround(around, send);
  const connect = async () => {
    const adapter = await factory.connect();
    const [queryRaw, executeRaw] = [adapter.queryRaw.bind(adapter), adapter.executeRaw.bind(adapter)];
    return Object.assign(adapter, {
      queryRaw: (query: SqlQuery) => run(() => queryRaw(query)),
      executeRaw: (query: SqlQuery) => run(() => executeRaw(query)),
      startTransaction: (level: IsolationLevel) => startTransaction(pglite, around, level),
    });
  };
  const wrapped = { ...NAMES, connectToShadowDb: () => factory.connectToShadowDb(), connect };
  return withScripts(wrapped, (_, script) => run(() => pglite.exec(script)));
}

async function runAround<T>({ before, after, errorOf }: Around, send: () => Promise<T>): Promise<T> {
  before();
  try {
    return await send();
  } catch (error) {
    throw errorOf(error);
  } finally {
    await after();
  }
}

/** Opens a transaction. Its `commit` rejects where the COMMIT fails; `commit` and `rollback` resolve once `after` has. */
async function startTransaction(pglite: PGlite, around: Around, level: IsolationLevel): Promise<Transaction> {
  around.before();
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
    outcome.catch(reject); // before it was started; afterwards `commit` reports it
  });
  const tx = await started;
  // The adapter asks its client for `query` alone, which a transaction has as well.
  const queryable = await new PrismaPGlite(tx as unknown as PGlite).connect();
  const finish = async () => {
    end();
    await outcome;
  };
  const within = { ...around, before: () => {} };
  const run = <T>(send: () => Promise<T>) => runAround({ ...within, after: async () => {} }, send);
  return {
    ...NAMES,
    options: { usePhantomQuery: true },
    queryRaw: (query) => run(() => queryable.queryRaw(query)),
    executeRaw: (query) => run(() => queryable.executeRaw(query)),
    commit: () => runAround(within, finish),
    rollback: () => runAround(within, () => tx.rollback().then(finish)),
  };
}
