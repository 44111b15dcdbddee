import type { Prisma } from "../db/generated/client";
import { sql } from "../db/sql";
import type { Tx } from "../db/transaction";

/** The most rows that a page counts. For more it shows "1,000+". */
export const MAX_COUNTED = 1_000;

/** Counts the rows that `select` returns: `MAX_COUNTED` at most. */
export async function countRows(db: Tx, select: Prisma.Sql): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>(
    sql`SELECT count(*)::integer AS count FROM (${select} LIMIT ${MAX_COUNTED}::integer) AS counted`,
  );
  return row?.count ?? 0;
}
