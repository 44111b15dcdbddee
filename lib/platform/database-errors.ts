/** Codes of Prisma ("Error message reference") for a database that is unavailable or asks for a retry. */
const PRISMA_CODE = /^P(1000|1001|1002|1003|1008|1010|1011|1017|2024|2028|2034|2037)$/;
/** The same of sockets and name resolution. */
const SOCKET_CODE =
  /^(EAI_AGAIN|EPIPE|ECONN(REFUSED|RESET|ABORTED)|ENOT(CONN|FOUND)|ETIMEDOUT|E(HOST|NET)UNREACH|EADDRNOTAVAIL)$/;
/** Kinds of errors of Prisma's driver adapters with the same meaning. */
const ADAPTER_KIND = /^(DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections|TlsConnectionError)$/;
/**
 * SQLSTATE classes and codes with the same meaning (PostgreSQL, Appendix A): connection, resources, operator
 * intervention, system errors, serialization failures, lock and idle timeouts, read-only standbys. 25P02 follows any of
 * them: Prisma sends the `findUnique` calls of one turn as one transaction, also those of different requests.
 */
const SQL_STATE = /^(08|53|57P|58)...?$|^(57014|40001|40P01|55P03|25P02|25P03|25006)$/;
const UNAVAILABLE = [PRISMA_CODE, SOCKET_CODE, ADAPTER_KIND, SQL_STATE];
const UNAVAILABLE_TEXT =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|not queryable|accepts writes|PGlite is closed/i;

/** Whether an error of Prisma, its adapters or the driver means that the database is unavailable. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return causes(error).some(
    ({ code, kind, originalCode, message, syscall }) =>
      [code, kind, originalCode].some((one) => UNAVAILABLE.some((pattern) => pattern.test(String(one)))) ||
      (code === "ENOENT" && syscall === "connect") || // the Unix socket of a server
      (typeof message === "string" && UNAVAILABLE_TEXT.test(message)),
  );
}

/** Codes of `isDatabaseUnavailable` that concern one statement or transaction: conflicts, and limits of its time. */
const CONTENTION = ["P2028", "P2034", "40001", "40P01", "55P03", "57014", "25P02", "25P03"];

/** Whether the database is unavailable to every transaction, not just too slow or too busy for one. */
export const isConnectionLost = (error: unknown): boolean =>
  isDatabaseUnavailable(error) && !hasCode(error, CONTENTION);

/** Whether the database's disk is full (SQLSTATE disk_full). */
export const isStorageFull = (error: unknown): boolean => hasCode(error, ["53100"]);

/** Whether the database has found its own files damaged (SQLSTATE data_corrupted and index_corrupted). */
export const isDataCorrupted = (error: unknown): boolean => hasCode(error, ["XX001", "XX002"]);

/** Whether a transaction lost a conflict with another one, and can be retried at once. */
export const isTransactionConflict = (error: unknown): boolean =>
  hasCode(error, ["P2034", "TransactionWriteConflict", "40001", "40P01"]);

/** Whether a row that the request depends on has been deleted, for example with its account. */
export const isReferencedRowMissing = (error: unknown): boolean =>
  hasCode(error, ["P2003", "P2025", "ForeignKeyConstraintViolation", "23503"]);

export const isUniqueViolation = (error: unknown): boolean =>
  hasCode(error, ["P2002", "UniqueConstraintViolation", "23505"]);

/** Whether an error or one of its causes has a code of Prisma, an SQLSTATE or a kind of Prisma's adapters. */
function hasCode(error: unknown, codes: readonly unknown[]): boolean {
  return causes(error).some(({ code, kind, originalCode }) =>
    [code, kind, originalCode].some((one) => codes.includes(one)),
  );
}

type ErrorFields = { code?: unknown; kind?: unknown; originalCode?: unknown; message?: unknown; syscall?: unknown };

/** The error and its causes, outermost first. Prisma keeps the driver's error in `meta` or `cause`. */
function causes(error: unknown): ErrorFields[] {
  const found: ErrorFields[] = [];
  const queue = [error];
  while (queue.length > 0 && found.length < 10) {
    const next = queue.shift();
    if (typeof next !== "object" || next === null || found.includes(next)) continue;
    found.push(next);
    const { cause, meta } = next as { cause?: unknown; meta?: { driverAdapterError?: unknown } };
    queue.push(cause, meta?.driverAdapterError);
  }
  return found;
}
