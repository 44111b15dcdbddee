import { AsyncLocalStorage } from "node:async_hooks";
import { isAppError } from "../../errors";
import { isDatabaseUnavailable, isTransactionConflict } from "../database-errors";
import type { Prisma, PrismaClient } from "./generated/client";

/** The client inside a transaction. On PGlite, queries through any other client wait until the transaction ends. */
export type Tx = Prisma.TransactionClient;

/** A transaction of the code that runs now. `startedAt` has the stack of its start. */
type Open = { isOpen: boolean; startedAt: Error };

const current = new AsyncLocalStorage<Open>();

/** The error has the stack of the query, and its cause that of the transaction. */
function assertOutside(): void {
  const open = current.getStore();
  if (open?.isOpen)
    throw new Error("A query outside of the transaction that waits for it: pass the transaction's client", {
      cause: open.startedAt,
    });
}

/**
 * A client whose queries fail at once inside a transaction of their own code, for tests and development. The transaction
 * would wait for the query, and the query for the transaction's connection: on PGlite always, on PostgreSQL under load.
 */
export function withTransactionCheck(client: PrismaClient): PrismaClient {
  const transaction = (given: ((tx: Tx) => Promise<unknown>) | [], ...options: []) => {
    assertOutside();
    if (typeof given !== "function") return client.$transaction(given, ...options);
    const open = { isOpen: true, startedAt: new Error("The transaction was started here") };
    const run = async (tx: Tx) => given(tx);
    const close = () => {
      open.isOpen = false; // what the code has started and not waited for may query from here on
    };
    return client.$transaction((tx) => current.run(open, () => run(tx).finally(close)), ...options);
  };
  const delegates = new Map<PropertyKey, unknown>();
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name === "$transaction") return transaction;
      if (typeof value === "function")
        return /^\$(?:query|execute)/.test(String(name)) ? checked(value, target) : value.bind(target);
      if (typeof value !== "object" || value === null) return value;
      if (!delegates.has(name)) delegates.set(name, checkedDelegate(value));
      return delegates.get(name);
    },
  });
}

/** The methods of a model, each of which queries. */
function checkedDelegate(delegate: object): object {
  return new Proxy(delegate, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? checked(value, target) : value;
    },
  });
}

// biome-ignore lint/complexity/noBannedTypes: any method of Prisma's client
function checked(method: Function, owner: object) {
  return (...args: unknown[]) => {
    assertOutside();
    return method.apply(owner, args);
  };
}

const MAX_ATTEMPTS = 2;
/** Maximum attempts after a deadlock or a conflict, which a retry usually resolves. */
const MAX_RACE_ATTEMPTS = 4;

/**
 * Retries a transaction that fails, for example because its account was deleted concurrently or because of a deadlock.
 * Does not retry an `AppError`, or while the database is unavailable. `isRaceLost`: whether an error is such a conflict.
 * @throws the last attempt's error
 */
export async function withRetry<T>(attempt: () => Promise<T>, isRaceLost = isTransactionConflict): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isRace = isRaceLost(error);
      const maxAttempts = isRace ? MAX_RACE_ATTEMPTS : MAX_ATTEMPTS;
      if (attempts === maxAttempts || isAppError(error) || (isDatabaseUnavailable(error) && !isRace)) throw error;
    }
  }
}
