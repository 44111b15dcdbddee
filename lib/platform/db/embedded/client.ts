import {
  type PGlite,
  type Transaction as PGliteTransaction,
  parse,
  protocol,
  type QueryOptions,
  type Results,
  types,
} from "@electric-sql/pglite";

const { serialize } = protocol;

/** The part of PGlite that its adapter for Prisma uses. */
export type PgliteClient = Pick<PGlite, "query" | "exec" | "transaction">;

export type PreparingClient = PgliteClient & {
  /** Has every statement prepared again. A prepared one fails once a migration has changed the type of its result. */
  invalidateStatements: () => void;
};

/** How many statements stay prepared, of which each takes about 27 kB. A busy service repeats fewer. */
const MAX_PREPARED = 200;
/** Of statements in one turn of the event loop. They take some ten milliseconds. */
const MAX_PER_TURN = 20;

/**
 * Returns PGlite with another `query`. PGlite's own sends six messages one by one, the first two only to learn the types of
 * the parameters, and takes twice the time. This one sends them together, and writes parameters as node-postgres does:
 * PostgreSQL converts each to the type that the statement needs. It parses a statement once, and plans it for each
 * execution's parameters: the session has `plan_cache_mode = force_custom_plan`.
 */
export function clientOf(pglite: PGlite): PreparingClient {
  const statements = new PreparedStatements();
  const takeTurn = createTurns();
  const send = async <T>(sql: string, values: unknown[] = [], options: QueryOptions = {}): Promise<Results<T>> => {
    await takeTurn();
    return pglite.runExclusive(async () => {
      const parameters = values.map(toParameter);
      // PostgreSQL keeps the plan of a prepared statement without parameters, however much its tables grow.
      const { name, messages } = parameters.length > 0 ? statements.prepare(sql) : unnamed(sql);
      try {
        messages.push(
          serialize.bind({ statement: name, values: parameters }),
          serialize.describe({ type: "P" }),
          serialize.execute(),
          serialize.sync(),
        );
        const replies = await pglite.execProtocolStream(Buffer.concat(messages), { syncToFs: false });
        const parsers = (options.parsers ?? pglite.parsers) as typeof pglite.parsers; // not merged: PGlite has hundreds
        const [result] = parse.parseResults(replies, parsers, { rowMode: options.rowMode });
        return result as Results<T>;
      } catch (error) {
        statements.invalidate(sql); // it may not have been prepared
        throw error;
      }
    });
  };
  const query: PGlite["query"] = (...args) => pglite._runExclusiveTransaction(() => send(...args));
  const within = (tx: PGliteTransaction): PGliteTransaction =>
    Object.assign(tx, {
      query: async (...args: Parameters<typeof send>) => {
        if (tx.closed) throw new Error("Transaction is closed");
        return send(...args);
      },
    });
  return {
    query,
    exec: (script, options) => pglite.exec(script, options),
    transaction: (run) => pglite.transaction((tx) => run(within(tx))),
    invalidateStatements: () => statements.invalidateAll(),
  };
}

/**
 * Returns what to wait for before each statement. PGlite runs in this thread and resolves promises only: without a wait for the next
 * turn of the event loop, a loop of statements would hold up every socket and timer until its end.
 */
function createTurns(): () => Promise<void> {
  let sent = 0;
  let turn: Promise<void> | undefined;
  return async () => {
    while (sent >= MAX_PER_TURN) await turn;
    sent += 1;
    turn ??= new Promise((resolve) => {
      setImmediate(() => {
        sent = 0;
        turn = undefined;
        resolve();
      });
    });
  };
}

/** A statement's name, and the messages that come before its Bind. */
type Preparation = { name: string; messages: Uint8Array[] };

const unnamed = (sql: string): Preparation => ({ name: "", messages: [serialize.parse({ text: sql })] });

/** The session's prepared statements: the `MAX_PREPARED` most recently used. */
class PreparedStatements {
  /** Names by text, the least recently used first. */
  readonly #names = new Map<string, string>();
  readonly #free = Array.from({ length: MAX_PREPARED }, (_, index) => `s${index}`);

  /** Returns the statement's name, and what prepares it, unless it is prepared. */
  prepare(sql: string): Preparation {
    const known = this.#names.get(sql);
    this.#names.delete(sql);
    const name = known ?? this.#free.pop() ?? this.#takeOldest();
    this.#names.set(sql, name);
    // Close of a name that is not in use does nothing.
    return {
      name,
      messages: known ? [] : [serialize.close({ type: "S", name }), serialize.parse({ name, text: sql })],
    };
  }

  /** Has a statement prepared again at its next use. */
  invalidate(sql: string): void {
    const name = this.#names.get(sql);
    if (name && this.#names.delete(sql)) this.#free.push(name);
  }

  invalidateAll(): void {
    for (const sql of [...this.#names.keys()]) this.invalidate(sql);
  }

  #takeOldest(): string {
    const [sql = "", name = ""] = this.#names.entries().next().value ?? [];
    this.#names.delete(sql);
    return name;
  }
}

/** A value as PostgreSQL reads it for any type: bytes in binary, the others as text. */
function toParameter(value: unknown): string | Uint8Array | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return types.arraySerializer(value, toElement, 0);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const toElement = (value: unknown): string =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : String(toParameter(value));
