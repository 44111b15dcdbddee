import type { Tx } from "../../context";
import { revenueCat } from "../providers/revenuecat";

/** The names under which the provider knows the owners of lines, as it writes them: it tells upper from lower case. */
export async function customersOf(db: Tx, lineIds: string[]): Promise<string[]> {
  if (lineIds.length === 0) return [];
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT newest.name FROM "SubscriptionLine" AS line
    CROSS JOIN LATERAL (
      SELECT event."appUserId" AS name FROM "BillingEvent" AS event
      WHERE event.provider = line.provider AND event.identities && line.identities
        AND (event."appUserId" = ANY(line.identities) OR lower(event."appUserId") = ANY(line.identities))
        AND event."appUserId" NOT LIKE 'sha256:%'
      ORDER BY event."occurredAt" DESC, event.id LIMIT 1
    ) AS newest
    WHERE line.id = ANY(${lineIds}::uuid[]) AND line.provider = ${revenueCat.name}
    ORDER BY newest.name`;
  return rows.map(({ name }) => name);
}
