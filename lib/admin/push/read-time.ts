import type { Context } from "../../context";

/** The database's time, or `notBefore` if that is later. */
export async function readTime(
  { db, dbNow }: Pick<Context, "db" | "dbNow">,
  notBefore: Date | null = null,
): Promise<Date> {
  const [time] = await db.$queryRaw<{ at: Date }[]>`
    SELECT greatest(${dbNow()}::timestamptz, ${notBefore}::timestamptz) AS "at"`;
  if (!time) throw new Error("the database has no time");
  return time.at;
}
