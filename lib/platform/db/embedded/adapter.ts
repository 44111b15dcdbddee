import { setTimeout as delay } from "node:timers/promises";
import type { PGlite, Transaction as PGliteTransaction } from "@electric-sql/pglite";
import type { SqlDriverAdapter, SqlQuery } from "@prisma/driver-adapter-utils";
import { PrismaPGlite } from "pglite-prisma-adapter";
import { withScripts } from "../migrations";
import type { PgliteClient } from "./client";
import { PAUSED } from "./failures";

type IsolationLevel = Parameters<SqlDriverAdapter["startTransaction"]>[0];

const NAMES = { provider: "postgres", adapterName: "pglite-prisma-adapter" } as const;

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

/**
 * Returns Prisma's adapter over a PGlite, with three corrections. Its `executeScript` neither waits for the script nor
 * reports errors, so a failed migration would be recorded as applied. Its transactions do not report a failed COMMIT.
 * It reads every time as UTC, so the session has to use UTC.
 */
export async function embeddedAdapter(pglite: PgliteClient, hooks = NO_HOOKS) {
  await pglite.exec("SET TIME ZONE 'UTC'");
  const factory = new PrismaPGlite(pglite as PGlite);
  const run = <T>(send: () => Promise<T>) => runOutsideTransaction(hooks, send);
  const connect = async () => {
    const adapter = await factory.connect();
    const [queryRaw, executeRaw] = [adapter.queryRaw.bind(adapter), adapter.executeRaw.bind(adapter)];
    return Object.assign(adapter, {
      queryRaw: (query: SqlQuery) => run(() => queryRaw(query)),
      executeRaw: (query: SqlQuery) => run(() => executeRaw(query)),
      startTransaction: (level: IsolationLevel) => startTransaction(pglite, hooks, level),
    });
  };
  const wrapped = { ...NAMES, connectToShadowDb: () => factory.connectToShadowDb(), connect };
  return withScripts(wrapped, (_, script) => run(() => pglite.exec(script)));
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
async function startTransaction(pglite: PgliteClient, hooks: StatementHooks, level: IsolationLevel) {
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
  // The adapter calls only its client's `query`, which a transaction has too.
  const queryable = await new PrismaPGlite(tx as unknown as PGlite).connect();
  const finish = async () => {
    end();
    await outcome;
  };
  const within = { ...hooks, before: () => {} };
  const run = <T>(send: () => Promise<T>) => runWithHooks({ ...within, after: async () => {} }, send);
  return {
    ...NAMES,
    options: { usePhantomQuery: true },
    queryRaw: (query: SqlQuery) => run(() => queryable.queryRaw(query)),
    executeRaw: (query: SqlQuery) => run(() => queryable.executeRaw(query)),
    commit: () => runWithHooks(within, finish),
    rollback: () => runWithHooks(within, () => tx.rollback().then(finish)),
  };
}
