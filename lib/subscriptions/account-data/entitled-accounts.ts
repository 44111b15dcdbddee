import type { Context, Tx } from "../../context";
import { uuidArray } from "../../platform/db/sql";
import { type BillingRules, statusRules } from "../entitlement-rules";
import { StoredPurchase } from "../purchase-state";
import { accountStatus } from "../status/account-status";

type Deps = Pick<Context, "now"> & { config: BillingRules };

/** Returns a function that finds the accounts, among those given, for which an entitlement is active now. */
export function createEntitledAccounts(deps: Deps): Context["entitledAccounts"] {
  return (db, accountIds, entitlement) => findEntitledAccounts(deps, db, accountIds, entitlement);
}

/** Uses the subscription status of each account. */
async function findEntitledAccounts(
  { config, now }: Deps,
  db: Tx,
  accountIds: readonly string[],
  entitlement: string,
): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ accountId: string; purchases: unknown[] }[]>`
    SELECT "accountId"::text, jsonb_agg(to_jsonb(purchase) ORDER BY id) AS purchases FROM "Purchase" AS purchase
    WHERE "accountId" = ANY(${uuidArray(accountIds)}) GROUP BY "accountId"
    HAVING bool_or(${entitlement} = ANY("entitlementIds"))`;
  const at = now();
  const entitled = rows.filter(({ accountId, purchases }) => {
    const parsed = StoredPurchase.array().parse(purchases);
    const { entitlements } = accountStatus(parsed, at, statusRules(config, accountId));
    return entitlements.some(({ id, isActive }) => id === entitlement && isActive);
  });
  return new Set(entitled.map(({ accountId }) => accountId));
}
