import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { Client, Pool } from "pg";
import { hostUrls } from "../../config/database";
import { SERVICE_LIMITS, sessionSettings, type Timeouts } from "../time-limits";
import { writableClient } from "./hosts";

const CONNECT_TIMEOUT_MS = 3_000;
/** Maximum time that a migration waits for a locked table. */
const MIGRATION_LOCK_MS = 3_000;

/**
 * Returns Prisma's adapter over a pool of PostgreSQL connections, with `timeouts` and UTC regardless of the server's
 * settings. Of several hosts in `url` it uses the one that accepts writes, also after another one has become it. The
 * pool closes a connection that is released inside a transaction, for example because its ROLLBACK was never sent: the
 * next user's writes would join that transaction and be lost after they were acknowledged.
 */
export function postgresAdapter(
  url: string,
  poolSize: number,
  onError: (error: Error) => void,
  timeouts: Timeouts = SERVICE_LIMITS,
): PrismaPg {
  const urls = hostUrls(url);
  const pool = new Pool({
    Client: urls.length > 1 ? writableClient(urls) : Client,
    connectionString: withSession(urls[0] ?? url, sessionSettings(timeouts)),
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: timeouts.queryMs,
    keepAlive: true,
    application_name: "homeport",
  });
  // The server's last reported status. It stays "in a transaction" while a query of the transaction runs.
  pool.on("release", (_, client) => void (client.getTransactionStatus() === "I" || client.end()));
  return new PrismaPg(pool, { onPoolError: onError, onConnectionError: onError, disposeExternalPool: true });
}

/**
 * Returns the adapter for migrations. A migration is one transaction without a time limit, but it does not wait long
 * for a locked table, because every other query on the table would queue behind it. `record` is SQL that is appended to
 * each migration and runs in the same transaction.
 */
export function migrationAdapter(url: string, record = ""): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg({
    connectionString: withSession(url, {
      lock_timeout: MIGRATION_LOCK_MS,
      statement_timeout: 0,
      idle_in_transaction_session_timeout: SERVICE_LIMITS.idleInTransactionMs,
    }),
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "homeport-migrate",
  });
  // The adapter's `executeScript` splits the script at every semicolon, even in string literals and function bodies.
  const connect = async () => {
    const adapter = await factory.connect();
    const executeScript = async (script: string) => void (await adapter.underlyingDriver().query(script + record));
    return Object.assign(adapter, { executeScript });
  };
  const { provider, adapterName } = factory;
  return { provider, adapterName, connect, connectToShadowDb: () => factory.connectToShadowDb() };
}

/**
 * Returns `url` with settings for each session, UTC among them; times are in milliseconds. They are appended to the
 * URL's own `options`, which replace the `options` in pg's configuration.
 */
export function withSession(url: string, settings: Record<string, number | string>): string {
  const parsed = new URL(url);
  const options = Object.entries({ TimeZone: "UTC", ...settings }).map(([name, value]) => `-c ${name}=${value}`);
  const given = parsed.searchParams.get("options") ?? "";
  parsed.searchParams.set("options", [given, ...options].join(" ").trim());
  return parsed.href;
}
