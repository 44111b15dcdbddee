import type { BillingProduct } from "../../../lib/subscriptions/admin/billing-products";
import type { CommandContext } from "../command";

/** `homeport billing products`. */
export async function listProducts(
  { api, output }: CommandContext,
  { withoutEntitlement }: { withoutEntitlement?: boolean },
): Promise<void> {
  const query = withoutEntitlement ? "?withoutEntitlement=true" : "";
  const listed = await api.get<{ products: BillingProduct[] }>(`/api/admin/billing/products${query}`);
  if (listed.products.length === 0) output.note("No products found.");
  output.table(listed.products, {
    provider: ({ provider }) => provider,
    product: ({ productId }) => productId,
    entitlements: ({ entitlementIds }) => entitlementIds.join(", ") || null,
    configured: ({ configuredEntitlementIds: ids }) => ids && (ids.join(", ") || "nothing"),
    purchases: ({ purchases }) => purchases,
    without: (product) => product.withoutEntitlement,
  });
}
