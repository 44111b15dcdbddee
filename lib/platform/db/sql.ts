import { Prisma } from "./generated/client";

/** Builds an SQL fragment; its values become parameters. */
export const sql = Prisma.sql;

export const join = Prisma.join;

/** Quotes an SQL identifier from the code, never from input. */
export function identifier(name: string): Prisma.Sql {
  return Prisma.raw(`"${name}"`);
}

export function seconds(count: number): Prisma.Sql {
  return sql`interval '1 second' * ${count}::int`;
}

/** Follows every other character in UTF-8. */
const LAST_CHARACTER = "\u{10FFFF}";

/** Two comparisons by bytes, which an index with COLLATE "C" serves: LIKE with a parameter uses none. */
export function beginsWith(text: Prisma.Sql, prefix: Prisma.Sql): Prisma.Sql {
  return sql`${text} COLLATE "C" >= ${prefix} AND ${text} COLLATE "C" < ${prefix} || ${LAST_CHARACTER}::text`;
}

export const empty = Prisma.empty;

/**
 * Returns an SQL array of UUIDs. One text is cheaper to encode than an array of texts. A subquery parses it once: PostgreSQL
 * would parse a plain cast again for each row that it compares.
 */
export function uuidArray(ids: readonly string[]): Prisma.Sql {
  return sql`(SELECT ${`{${ids.join(",")}}`}::text::uuid[])::uuid[]`;
}

/**
 * Returns the condition that a row is one of those that a CTE of the statement has locked; the CTE has their `ctid`. The
 * planner then reads these rows alone (a "TID Scan"), whatever it believes of the table. By key it could choose to compare
 * each row of the table with each of the CTE: it believes that a queue is empty if it was when it was last analyzed. A
 * row that another transaction changed after the statement began is left out.
 */
export function isLockedBy(cte: string, table: string): Prisma.Sql {
  return sql`${identifier(table)}.ctid = ANY(ARRAY(SELECT ctid FROM ${identifier(cte)}))`;
}

/** Returns SQL literals of names in the code, never of input: the planner uses a partial index only for literals. */
export function literals(names: readonly string[]): Prisma.Sql {
  return Prisma.raw(names.map((name) => `'${name}'`).join(", "));
}
