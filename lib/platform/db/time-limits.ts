import type { PrismaClient } from "./generated/client";

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

type Settings = Record<string, number | string>;

/** The settings of each session of the service. Times are in milliseconds. */
export const sessionSettings = (timeouts: Timeouts): Settings => ({
  TimeZone: "UTC",
  lock_timeout: timeouts.lockMs,
  statement_timeout: timeouts.statementMs,
  idle_in_transaction_session_timeout: timeouts.idleInTransactionMs,
  // PostgreSQL would compile statements that read a few rows by index, if it expects many. The compilation takes
  // 20 to 400 ms, more than such a statement ever saves.
  jit: "off",
});

/**
 * Returns the statements that give the connection's role the settings that its session lacks: PgBouncer does not pass
 * them on. A shorter time limit than the service's own counts as set.
 */
export async function findMissingSettings(client: PrismaClient, timeouts: Timeouts): Promise<string[]> {
  const expected = sessionSettings(timeouts);
  const rows = await client.$queryRaw<{ name: string; setting: string; role: string }[]>`
    SELECT name, setting, quote_ident(current_user) AS role FROM pg_settings
    WHERE name = ANY(${Object.keys(expected)})`;
  return rows
    .filter(({ name, setting }) => !isInForce(expected[name], setting))
    .map(({ name, role }) => `ALTER ROLE ${role} SET ${name} = '${expected[name]}'`)
    .sort();
}

function isInForce(expected: Settings[string] | undefined, setting: string): boolean {
  if (typeof expected !== "number") return setting.replace("Etc/", "") === expected;
  return Number(setting) > 0 && Number(setting) <= expected;
}
