import type { Tx } from "../../context";
import { revenueCat } from "../providers/revenuecat";

/** Returns the App User IDs of the owners of purchases as the provider wrote them: its API is case-sensitive. */
export async function findAppUserIds(db: Tx, purchaseIds: string[]): Promise<string[]> {
  if (purchaseIds.length === 0) return [];
  const rows = await db.$queryRaw<{ appUserId: string }[]>`
    SELECT DISTINCT newest."appUserId" FROM "Purchase" AS purchase
    CROSS JOIN LATERAL (
      SELECT event."appUserId" FROM "BillingEvent" AS event
      WHERE event.provider IS NOT DISTINCT FROM purchase.provider AND event."appUserIds" && purchase."appUserIds"
        AND (event."appUserId" = ANY(purchase."appUserIds") OR lower(event."appUserId") = ANY(purchase."appUserIds"))
        AND event."appUserId" NOT LIKE 'sha256:%'
      ORDER BY event."occurredAt" DESC, event.id LIMIT 1
    ) AS newest
    WHERE purchase.id = ANY(${purchaseIds}::uuid[]) AND purchase.provider = ${revenueCat.name}
    ORDER BY newest."appUserId"`;
  return rows.map(({ appUserId }) => appUserId);
}
