import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { BillingProducts } from "@/lib/subscriptions/admin/billing-products";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { deliverOk, initialPurchase, statusOf } from "@/tests/support/subscriptions/billing";

async function list(token: string, query = "") {
  const response = await get(`/api/admin/billing/products${query}`, { token });
  expect(response.status).toBe(200);
  return ((await response.json()) as BillingProducts).products;
}

async function buy(productId: string, entitlementIds: string[] | null) {
  const ann = await newAccount();
  await deliverOk({ ...initialPurchase(ann.id), product_id: productId, entitlement_ids: entitlementIds });
  return ann;
}

test("a product whose subscriptions give nothing is listed, until the configuration says that it is meant so", async () => {
  const { token } = await accountWithRole("support");
  const [mapped, unmapped] = [`mapped.${randomUUID()}`, `unmapped.${randomUUID()}`];
  await buy(mapped, ["pro"]);
  const ann = await buy(unmapped, null);
  await buy(unmapped, null);
  expect(await statusOf(ann)).toMatchObject({ isActive: true, entitlements: [] });
  const given = { provider: "revenuecat", configuredEntitlementIds: null };
  const all = await list(token);
  expect(all).toContainEqual({
    ...given,
    productId: mapped,
    purchases: 1,
    entitlementIds: ["pro"],
    withoutEntitlement: 0,
  });
  const without = { ...given, productId: unmapped, purchases: 2, entitlementIds: [], withoutEntitlement: 2 };
  expect(all).toContainEqual(without);
  const filtered = await list(token, "?withoutEntitlement=true");
  expect(filtered).toContainEqual(without);
  expect(filtered.map(({ productId }) => productId)).not.toContain(mapped);
  await withContext({ config: { BILLING_PRODUCTS: new Map([[unmapped, []]]) } }, async () => {
    const rest = await list(token, "?withoutEntitlement=true");
    expect(rest.map(({ productId }) => productId)).not.toContain(unmapped);
  });
});

test("a product without an entitlement is logged once", async () => {
  const warnings: unknown[] = [];
  const log = Object.assign(Object.create(ctx().log), { warn: (fields: unknown) => warnings.push(fields) });
  const productId = `unmapped.${randomUUID()}`;
  await withContext({ log }, async () => {
    await buy(productId, []);
    await buy(productId, []);
  });
  expect(warnings.filter((one) => JSON.stringify(one).includes(productId))).toEqual([
    { provider: "revenuecat", productId },
  ]);
});
