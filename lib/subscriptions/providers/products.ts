import { z } from "zod";
import { entitlements } from "./fields";
import type { Products } from "./provider";

/** The field `entitlements` of a vendor's metadata: ids in a text, separated by commas, or in an array. */
export const EntitlementsField = z
  .union([z.string().transform((text) => text.split(",").map((id) => id.trim())), z.array(z.string())])
  .transform((ids) => ids.filter((id) => id.length > 0 && id.length <= 255))
  .nullable()
  .catch(null);

/** What was sold. `ids`: the vendor's price, then its product. `ofMetadata`: the entitlements that the vendor's metadata names. */
export type SoldItem = { ids: (string | null)[]; ofMetadata: string[] | null };

/**
 * Returns the entitlements of what was sold: those that `BILLING_PRODUCTS` gives the price, else the product, else those of
 * the vendor's metadata.
 */
export function entitlementsOf(products: Products, items: SoldItem[]): string[] {
  return entitlements(items.flatMap(({ ids, ofMetadata }) => configured(products, ids) ?? ofMetadata ?? [])) ?? [];
}

function configured(products: Products, ids: (string | null)[]): readonly string[] | undefined {
  return ids.map((id) => (id === null ? undefined : products.get(id))).find((found) => found !== undefined);
}
