import { readFileSync } from "node:fs";
import path from "node:path";
import type { Client } from "pg";
import { cpuSeconds } from "./process-usage";

/** What PostgreSQL, all its processes together, has used so far. */
export type DatabaseUsage = { cpuSeconds: number; walBytes: number };

export async function databaseUsage(database: Client): Promise<DatabaseUsage> {
  const { rows } = await database.query<{ folder: string; bytes: number }>(
    `SELECT current_setting('data_directory') AS folder, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  );
  const [{ folder, bytes } = { folder: "", bytes: 0 }] = rows;
  const pid = Number(readFileSync(path.join(folder, "postmaster.pid"), "utf8").split("\n")[0]);
  return { cpuSeconds: cpuSeconds(pid), walBytes: bytes };
}

/** Bytes a row of some tables, with their indexes and TOAST. */
export async function storedBytesPerRow(database: Client, tables: readonly string[]): Promise<number[]> {
  const perRow = tables.map(
    (table) => `pg_total_relation_size('"${table}"')::float8 / greatest((SELECT count(*) FROM "${table}"), 1)`,
  );
  const { rows } = await database.query<{ bytes: number[] }>(`SELECT ARRAY[${perRow.join(", ")}] AS bytes`);
  return rows[0]?.bytes ?? [];
}
