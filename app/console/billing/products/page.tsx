import {
  type BillingProduct,
  BillingProductsQuery,
  listBillingProducts,
  needsEntitlement,
} from "@/lib/subscriptions/admin/billing-products";
import { Badge } from "../../components/cells";
import { formatBounded } from "../../components/format-numbers";
import { PageHead } from "../../components/headings";
import { type Column, List } from "../../components/table";
import { Tabs } from "../../components/tabs";
import { consolePage } from "../../frame/console-page";

export const metadata = { title: "Products – Billing" };

const COLUMNS: Column<BillingProduct>[] = [
  { head: "Product", isRowHead: true, cell: ({ productId }) => productId },
  { head: "Provider", cell: ({ provider }) => provider },
  {
    head: "Entitlements",
    cell: (product) =>
      needsEntitlement(product) && product.entitlementIds.length === 0 ? (
        <Badge tone="warning">none</Badge>
      ) : (
        product.entitlementIds.join(", ")
      ),
  },
  { head: "BILLING_PRODUCTS", cell: ({ configuredEntitlementIds: ids }) => ids && (ids.join(", ") || "nothing") },
  { head: "Purchases", cell: ({ purchases }) => formatBounded(purchases) },
  { head: "Subscriptions without entitlement", cell: ({ withoutEntitlement }) => formatBounded(withoutEntitlement) },
];

export default consolePage({ query: BillingProductsQuery }, async ({ ctx, query }) => {
  const isFiltered = query.withoutEntitlement === "true";
  const without = await listBillingProducts(ctx, { withoutEntitlement: "true" });
  const { products } = isFiltered ? without : await listBillingProducts(ctx, {});
  const href = "/console/billing/products";
  return (
    <>
      <PageHead
        title="Products"
        parent={{ href: "/console/billing", label: "Billing" }}
        lead="Every product that was bought, and the entitlements that its purchases give."
      />
      <Tabs
        label="Products"
        tabs={[
          { href, label: "All", isCurrent: !isFiltered },
          {
            href: `${href}?withoutEntitlement=true`,
            label: "Without entitlements",
            count: formatBounded(without.products.length),
            isCurrent: isFiltered,
          },
        ]}
      />
      <List
        title={isFiltered ? "Products without entitlements" : "Products"}
        lead="A subscription without an entitlement is active but unlocks nothing that an app checks by entitlement. Map the product at the provider or in BILLING_PRODUCTS, then replay all events. An entry with an empty list says that a product is meant to unlock nothing."
        caption="Products, by provider"
        columns={COLUMNS}
        rows={products}
        rowKey={({ provider, productId }) => `${provider} ${productId}`}
        empty={isFiltered ? "Every product has an entitlement" : "Nothing was bought yet"}
      />
    </>
  );
});
