/** Codes of Prisma for a database that is unavailable or asks for a retry (Prisma, "Error message reference"). */
const PRISMA_CODES = [
  "P1000",
  "P1001",
  "P1002",
  "P1003",
  "P1008",
  "P1010",
  "P1011",
  "P1017",
  "P2024",
  "P2028",
  "P2034",
  "P2037",
];
/** Codes of sockets for the same. */
const SOCKET_CODES = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "ENOTCONN",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
];
/** Kinds of errors of Prisma's driver adapters for the same. */
const ADAPTER_KINDS = [
  "DatabaseNotReachable",
  "ConnectionClosed",
  "SocketTimeout",
  "TooManyConnections",
  "TlsConnectionError",
];
const UNAVAILABLE: ReadonlySet<string> = new Set([...PRISMA_CODES, ...SOCKET_CODES, ...ADAPTER_KINDS]);
/**
 * SQLSTATE classes and codes with the same meaning (PostgreSQL, Appendix A): connection, resources, operator
 * intervention, system errors, serialization failures, lock and idle timeouts, read-only standbys.
 */
const UNAVAILABLE_STATE = /^(08|53|57P|58)...?$|^(57014|40001|40P01|55P03|25P03|25006)$/;
const UNAVAILABLE_TEXT =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|not queryable|accepts writes|PGlite is closed/i;

/** Whether an error of Prisma, its adapters or the driver means that the database is unavailable. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return causes(error).some(
    ({ code, kind, originalCode, message, syscall }) =>
      [code, kind, originalCode].some((one) => typeof one === "string" && meansUnavailable(one)) ||
      (code === "ENOENT" && syscall === "connect") || // the Unix socket of a server
      (typeof message === "string" && UNAVAILABLE_TEXT.test(message)),
  );
}

/** Codes of `isDatabaseUnavailable` that concern one statement or transaction: conflicts, and limits of its time. */
const CONTENTION = new Set(["P2028", "P2034", "40001", "40P01", "55P03", "57014", "25P03"]);

/** Whether the database is unavailable to every transaction, not just too slow or too busy for one. */
export function isConnectionLost(error: unknown): boolean {
  const codes = causes(error).flatMap(({ code, originalCode }) => [code, originalCode]);
  return isDatabaseUnavailable(error) && !codes.some((code) => typeof code === "string" && CONTENTION.has(code));
}

/** Whether the database's disk is full (SQLSTATE 53100, disk_full). */
export function isStorageFull(error: unknown): boolean {
  return causes(error).some(({ code, originalCode }) => code === "53100" || originalCode === "53100");
}

/** Whether the database has found its own files damaged (SQLSTATE XX001, data_corrupted, and XX002, index_corrupted). */
export function isDataCorrupted(error: unknown): boolean {
  return causes(error).some(({ code, originalCode }) =>
    [code, originalCode].some((one) => one === "XX001" || one === "XX002"),
  );
}

/** Whether a transaction lost a conflict with another one, and can be retried at once. */
export function isTransactionConflict(error: unknown): boolean {
  return causes(error).some(
    ({ code, kind, originalCode }) =>
      code === "P2034" || kind === "TransactionWriteConflict" || originalCode === "40001" || originalCode === "40P01",
  );
}

function meansUnavailable(code: string): boolean {
  return UNAVAILABLE.has(code) || UNAVAILABLE_STATE.test(code);
}

/** Whether a row that the request depends on has been deleted, for example with its account (P2003, P2025, 23503). */
export function isReferencedRowMissing(error: unknown): boolean {
  return causes(error).some(
    ({ code, kind, originalCode }) =>
      code === "P2003" || code === "P2025" || kind === "ForeignKeyConstraintViolation" || originalCode === "23503",
  );
}

/** Whether a unique constraint was violated (P2002, SQLSTATE 23505). */
export function isUniqueViolation(error: unknown): boolean {
  return causes(error).some(
    ({ code, kind, originalCode }) =>
      code === "P2002" || kind === "UniqueConstraintViolation" || originalCode === "23505",
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
