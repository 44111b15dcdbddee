import { z } from "zod";
import type { Context } from "../../context";
import { sql } from "../../platform/db/sql";
import { MAX_COUNTED } from "../../platform/lists";
import { HOMEPORT } from "../providers/find-provider";
import { STRIPE_ENTITLEMENTS, stripe } from "../providers/stripe";

/** More products than a company sells. */
const MAX_PRODUCTS = 500;

export const BillingProductsQuery = z.object({
  withoutEntitlement: z
    .enum(["true", "false"])
    .optional()
    .describe("`true`: only products whose subscriptions give nothing, although `BILLING_PRODUCTS` does not say so."),
});
export type BillingProductsQuery = z.infer<typeof BillingProductsQuery>;

/** A product that was bought, and what it gives. */
export const BillingProduct = z.object({
  provider: z.string(),
  productId: z.string(),
  purchases: z.int().describe("Its purchases, 1,000 at most."),
  entitlementIds: z.array(z.string()).describe("What these purchases give."),
  configuredEntitlementIds: z
    .array(z.string())
    .nullable()
    .describe("What `BILLING_PRODUCTS` maps the product's id to. null: it has no entry for this id."),
  withoutEntitlement: z
    .int()
    .describe(
      "Subscriptions to it that have not ended and give no entitlement, 1,000 at most. 0 if Stripe's own entitlements are used.",
    ),
});
export type BillingProduct = z.infer<typeof BillingProduct>;

export const BillingProducts = z.object({ products: z.array(BillingProduct) });
export type BillingProducts = z.infer<typeof BillingProducts>;

type Deps = { config: Pick<Context["config"], "BILLING_PRODUCTS">; db: Context["db"] };
type Row = Omit<BillingProduct, "configuredEntitlementIds">;

/** The condition of the index Purchase_without_entitlement_idx. */
const GIVES_NOTHING = sql`cardinality("entitlementIds") = 0 AND "productId" IS NOT NULL AND "periodType" IS NOT NULL
  AND "endedAt" IS NULL AND "refundedAt" IS NULL`;

/**
 * Lists the products that were bought, with what they give. Reads each product by an index, and a bounded number of its
 * purchases. An empty entry in `BILLING_PRODUCTS` says that a product is meant to give nothing.
 */
export async function listBillingProducts({ config, db }: Deps, { withoutEntitlement }: BillingProductsQuery) {
  const isFiltered = withoutEntitlement === "true";
  const condition = isFiltered ? GIVES_NOTHING : sql`"productId" IS NOT NULL`;
  const first = sql`ORDER BY provider, "productId" LIMIT 1`;
  const rows = await db.$queryRaw<Row[]>`
    WITH RECURSIVE product AS (
      (SELECT provider, "productId" FROM "Purchase" WHERE ${condition} ${first})
      UNION ALL
      SELECT following.* FROM product CROSS JOIN LATERAL (
        SELECT provider, "productId" FROM "Purchase"
        WHERE (provider, "productId") > (product.provider, product."productId") AND ${condition} ${first}
      ) AS following
    )
    SELECT product.*, bought.*, (
      SELECT count(*)::integer FROM (
        SELECT 1 FROM "Purchase"
        WHERE provider = product.provider AND "productId" = product."productId" AND ${GIVES_NOTHING}
        LIMIT ${MAX_COUNTED}::integer
      ) AS counted
    ) AS "withoutEntitlement"
    FROM (SELECT * FROM product LIMIT ${MAX_PRODUCTS}::integer) AS product CROSS JOIN LATERAL (
      SELECT count(DISTINCT one.id)::integer AS purchases,
        coalesce(array_agg(DISTINCT entitlement) FILTER (WHERE entitlement IS NOT NULL), '{}') AS "entitlementIds"
      FROM (
        SELECT id, "entitlementIds" FROM "Purchase"
        WHERE provider = product.provider AND "productId" = product."productId" LIMIT ${MAX_COUNTED}::integer
      ) AS one LEFT JOIN LATERAL unnest(one."entitlementIds") AS entitlement ON true
    ) AS bought`;
  const sold = rows.filter(({ provider }) => provider !== HOMEPORT); // nobody buys what operators grant
  const usesStripe = await db.purchase.findFirst({
    where: { provider: stripe.name, productId: STRIPE_ENTITLEMENTS },
    select: { id: true },
  });
  const products = sold.map((row) => {
    const configured = config.BILLING_PRODUCTS.get(row.productId);
    // Stripe says by customer what the others give.
    const withoutEntitlement = usesStripe && row.provider === stripe.name ? 0 : row.withoutEntitlement;
    return { ...row, withoutEntitlement, configuredEntitlementIds: configured ? [...configured] : null };
  });
  return { products: isFiltered ? products.filter(needsEntitlement) : products };
}

/** Whether subscriptions to a product give nothing, and `BILLING_PRODUCTS` does not say that they should. */
export function needsEntitlement({ withoutEntitlement, configuredEntitlementIds }: BillingProduct): boolean {
  return withoutEntitlement > 0 && configuredEntitlementIds?.length !== 0;
}
