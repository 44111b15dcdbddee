import type { Context } from "../../context";
import type { BillingRules } from "../entitlement-rules";
import type { PurchaseChange } from "../inbox/fold";

type Deps = Pick<Context, "log"> & { config: BillingRules };

/** The products that this process has warned of. A sender may use any id. */
const warned = new Set<string>();
const MAX_WARNED = 1_000;

/** Warns of subscriptions that give no entitlement, once for each product: the usual cause is an incomplete set-up. */
export function warnOfProducts({ config, log }: Deps, changes: readonly PurchaseChange[]): void {
  for (const { after } of changes) {
    const { provider, productId, entitlementIds, periodType } = after;
    if (productId === null || periodType === null || entitlementIds.length > 0) continue;
    const key = `${provider} ${productId}`;
    if (config.BILLING_PRODUCTS.get(productId)?.length === 0 || warned.has(key) || warned.size >= MAX_WARNED) continue;
    warned.add(key);
    log.warn({ provider, productId }, "a product that was bought has no entitlement: see homeport billing products");
  }
}
