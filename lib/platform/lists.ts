import { z } from "zod";
import { AppError } from "../errors";
import type { Prisma } from "./db/generated/client";
import { sql } from "./db/sql";
import type { Tx } from "./db/transaction";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** Which page of a list to return. Spread its shape into the query of a route. */
export const PageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, "Must be an integer")
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, `Must be from 1 to ${MAX_LIMIT}`)
    .optional()
    .meta({
      description: `Maximum number of items on a page: 1 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} by default.`,
      examples: ["50"],
    }),
  cursor: z.string().max(512).optional().describe("`nextCursor` of the previous page."),
});
export type PageQuery = z.infer<typeof PageQuery>;

export const NextCursor = z.string().nullable().describe("The `cursor` of the next page. null: this is the last one.");

/**
 * The next entries of a list. `searchedTo`: the last id that was searched, if the search reached its row limit before it
 * found enough entries; null if it reached the end.
 */
type Found<Entry> = readonly Entry[] | { entries: readonly Entry[]; searchedTo?: string | null };

/**
 * Reads a page of a list. `read` returns up to `take` entries that follow the one with the id `after`, in the list's
 * order. A cursor is valid for its own list alone.
 * @throws AppError invalid_query
 */
export async function readPage<Entry extends { id: string }>(
  list: string,
  { limit = DEFAULT_LIMIT, cursor }: PageQuery,
  read: (page: { after: string | null; take: number }) => Promise<Found<Entry>> | Found<Entry>,
): Promise<{ entries: readonly Entry[]; nextCursor: string | null }> {
  const result = await read({ after: cursor === undefined ? null : decodeCursor(list, cursor), take: limit + 1 });
  const { entries: found, searchedTo = null } = "length" in result ? { entries: result } : result;
  const entries = found.slice(0, limit);
  const end = found.length > limit ? entries.at(-1)?.id : searchedTo;
  return { entries, nextCursor: end ? encodeCursor(list, end) : null };
}

function encodeCursor(list: string, after: string): string {
  return Buffer.from(`${list} ${after}`).toString("base64url");
}

function decodeCursor(list: string, cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString();
  if (text.startsWith(`${list} `)) return text.slice(list.length + 1);
  const errors = [{ pointer: "?cursor", code: "invalid_cursor", detail: "Must be a cursor of this list" }];
  throw new AppError("invalid_query", { errors });
}

/** The most rows that a page counts. For more it shows "1,000+". */
export const MAX_COUNTED = 1_000;

/** Counts the rows that `select` returns: `MAX_COUNTED` at most. */
export async function countRows(db: Tx, select: Prisma.Sql): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>(
    sql`SELECT count(*)::integer AS count FROM (${select} LIMIT ${MAX_COUNTED}::integer) AS counted`,
  );
  return row?.count ?? 0;
}
