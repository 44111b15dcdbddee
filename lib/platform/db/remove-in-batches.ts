import type { Prisma } from "./generated/client";
import { identifier, sql } from "./sql";

/** The maximum number of rows that one statement removes, so that it holds its locks only briefly. */
export const REMOVAL_BATCH_SIZE = 1_000;
/** The maximum number of statements of one call. What is left is removed by the next call. */
const MAX_BATCHES = 1_000;

/**
 * Repeats a statement that removes up to `REMOVAL_BATCH_SIZE` rows, until it removes fewer: up to a million rows, so that
 * an hourly call keeps up with any load. Returns the number of rows.
 */
export async function removeInBatches(removeBatch: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (let i = 0; i < MAX_BATCHES; i++) {
    const count = await removeBatch();
    removed += count;
    if (count < REMOVAL_BATCH_SIZE) break;
  }
  return removed;
}

/**
 * Deletes the first rows that match a condition, in the order of a column, up to `REMOVAL_BATCH_SIZE`. Rows that are locked
 * are left to the next call.
 */
export function deleteBatch(table: string, key: string, condition: Prisma.Sql, orderBy: string): Prisma.Sql {
  const [from, column] = [identifier(table), identifier(key)];
  return sql`DELETE FROM ${from} WHERE ${column} IN (${selectBatch(table, key, condition, orderBy)})`;
}

/** Selects and locks the keys of the rows that `deleteBatch` would delete. */
export function selectBatch(table: string, key: string, condition: Prisma.Sql, orderBy: string): Prisma.Sql {
  return sql`
    SELECT ${identifier(key)} FROM ${identifier(table)} WHERE ${condition}
    ORDER BY ${identifier(orderBy)} LIMIT ${REMOVAL_BATCH_SIZE}::integer FOR UPDATE SKIP LOCKED`;
}
