import { ctx } from "@/tests/support/context";
import type { Sent } from "./billing";

type Moment = "INSERT" | "UPDATE" | "INSERT OR UPDATE";

const TABLES = ["BillingEvent", "Purchase", "AuditEvent"] as const;

/** What the database does with a row, until `repair` is called: PL/pgSQL over NEW. */
export async function onRow(when: Moment, body: string, table: (typeof TABLES)[number] = "BillingEvent") {
  await ctx().db.$executeRawUnsafe(
    `CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$`,
  );
  await ctx().db.$executeRawUnsafe(
    `CREATE TRIGGER fault BEFORE ${when} ON "${table}" FOR EACH ROW EXECUTE FUNCTION fault()`,
  );
}

/** PL/pgSQL to run before an event of the inbox is written as processed. */
export const whenProcessed = ({ id }: Sent, body: string) =>
  `IF NEW."eventId" = '${id}' AND NEW.state = 'processed' THEN ${body} END IF;`;

/** Ends what `onRow` has begun. */
export async function repair(): Promise<void> {
  for (const table of TABLES) {
    await ctx().db.$executeRawUnsafe(`DROP TRIGGER IF EXISTS fault ON "${table}"`);
  }
}
