import { z } from "zod";
import { entitlements } from "./fields";
import type { Products } from "./provider";

/** The field `entitlements` of a provider's metadata: ids in a text, separated by commas, or in an array. */
export const EntitlementsField = z
  .union([z.string().transform((text) => text.split(",").map((id) => id.trim())), z.array(z.string())])
  .transform((ids) => ids.filter((id) => id.length > 0 && id.length <= 255))
  .nullable()
  .catch(null);

/** What was sold. `ids`: the provider's price, then its product. */
export type SoldItem = { ids: (string | null)[]; metadataEntitlementIds: string[] | null };

/**
 * Returns the entitlements of what was sold: those that `BILLING_PRODUCTS` gives the price, else the product, else those of
 * the provider's metadata.
 */
export function entitlementsOf(products: Products, items: SoldItem[]): string[] {
  const ids = items.flatMap((item) => configured(products, item.ids) ?? item.metadataEntitlementIds ?? []);
  return entitlements(ids) ?? [];
}

function configured(products: Products, ids: (string | null)[]): readonly string[] | undefined {
  return ids.map((id) => (id === null ? undefined : products.get(id))).find((found) => found !== undefined);
}
