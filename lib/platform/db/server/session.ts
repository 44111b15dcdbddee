import type { PrismaClient } from "../generated/client";
import type { Timeouts } from "../time-limits";

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
