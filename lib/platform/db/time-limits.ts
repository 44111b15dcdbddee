/** Time limits of a connection in milliseconds; 0 disables a limit. */
export type Timeouts = {
  /** The server cancels a statement that waits this long for a lock. Longer than a migration waits for a lock. */
  lockMs: number;
  /**
   * The server cancels a statement. Shorter than `queryMs`: when pg times out, it does not cancel the statement on the
   * server, and the ROLLBACK that is queued behind the statement times out as well.
   */
  statementMs: number;
  /** The client abandons a query and its connection, for example after a failover that left the connection open. */
  queryMs: number;
  /** The server ends an idle transaction. In the service longer than Prisma's time-out for a whole transaction. */
  idleInTransactionMs: number;
};
/** The same, with Prisma's time-out for a whole transaction. */
export type Limits = Timeouts & { transactionMs: number };
/** Of the service and the worker: clients and proxies wait no longer. */
export const SERVICE_LIMITS: Limits = {
  lockMs: 5_000,
  statementMs: 8_000,
  queryMs: 10_000,
  transactionMs: 10_000,
  idleInTransactionMs: 15_000,
};
/** Of commands, which an operator can interrupt, and which may read or delete millions of rows. */
export const COMMAND_LIMITS: Limits = {
  lockMs: 5_000,
  statementMs: 600_000,
  queryMs: 610_000,
  transactionMs: 610_000,
  idleInTransactionMs: 60_000,
};
