import type { Tx } from "../../context";
import { revenueCat } from "../providers/revenuecat";

/** The names under which the provider knows the owners of purchases, as it writes them: it tells upper from lower case. */
export async function customersOf(db: Tx, purchaseIds: string[]): Promise<string[]> {
  if (purchaseIds.length === 0) return [];
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT newest.name FROM "Purchase" AS purchase
    CROSS JOIN LATERAL (
      SELECT event."appUserId" AS name FROM "BillingEvent" AS event
      WHERE event.provider = purchase.provider AND event."appUserIds" && purchase."appUserIds"
        AND (event."appUserId" = ANY(purchase."appUserIds") OR lower(event."appUserId") = ANY(purchase."appUserIds"))
        AND event."appUserId" NOT LIKE 'sha256:%'
      ORDER BY event."occurredAt" DESC, event.id LIMIT 1
    ) AS newest
    WHERE purchase.id = ANY(${purchaseIds}::uuid[]) AND purchase.provider = ${revenueCat.name}
    ORDER BY newest.name`;
  return rows.map(({ name }) => name);
}
