import { Prisma, type PrismaClient } from "../../lib/platform/db/generated/client";

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;

type Row = Record<string, unknown>;

/** Rows to insert, by table, in the order in which the tables were first named: a table after those that it refers to. */
export class Rows {
  readonly #tables = new Map<string, Row[]>();

  /** Every row of a table has the same columns. */
  add(table: string, row: Row): void {
    const known = this.#tables.get(table);
    if (known) known.push(row);
    else this.#tables.set(table, [row]);
  }

  /** Inserts all rows in one transaction, with one statement for each table, and discards them. */
  async insert(db: PrismaClient): Promise<void> {
    await db.$transaction(async (tx) => {
      for (const [table, rows] of this.#tables) {
        const columns = Prisma.raw(
          Object.keys(rows[0] ?? {})
            .map((name) => `"${name}"`)
            .join(),
        );
        await tx.$executeRaw`
          INSERT INTO ${Prisma.raw(`"${table}"`)} (${columns})
          SELECT ${columns} FROM jsonb_populate_recordset(NULL::${Prisma.raw(`"${table}"`)}, ${JSON.stringify(rows)}::jsonb)`;
      }
    });
    this.#tables.clear();
  }
}
