import { Prisma } from "./generated/client";

/** Builds an SQL fragment; its values become parameters. */
export const sql = Prisma.sql;

/** Joins SQL fragments with a separator. */
export const join = Prisma.join;

/** Quotes an SQL identifier from the code, never from input. */
export function identifier(name: string): Prisma.Sql {
  return Prisma.raw(`"${name}"`);
}

/** Returns an SQL interval in whole seconds. */
export function seconds(count: number): Prisma.Sql {
  return sql`interval '1 second' * ${count}::int`;
}

/** An SQL fragment without text. */
export const empty = Prisma.empty;

/** Returns an SQL array of UUIDs. One text is cheaper to encode than an array of texts. */
export function uuidArray(ids: readonly string[]): Prisma.Sql {
  return sql`${`{${ids.join(",")}}`}::text::uuid[]`;
}

/** Returns SQL literals of names in the code, never of input: the planner uses a partial index only for literals. */
export function literals(names: readonly string[]): Prisma.Sql {
  return Prisma.raw(names.map((name) => `'${name}'`).join(", "));
}
