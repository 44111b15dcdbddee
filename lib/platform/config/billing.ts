import { z } from "zod";
import { json, list } from "./values";

/** An app whose notifications are accepted. `appleId` is the number in the URL of its page in the App Store. */
export type AppStoreApp = { bundleId: string; appleId: number };

/** `BILLING_APP_STORE_APPS`: bundle IDs with the app's Apple ID. */
export const appStoreApps = list.pipe(
  z.array(
    z
      .string()
      .regex(/^[\w.-]{1,155}:\d{1,15}$/, "must be a bundle ID and the app's Apple ID: com.example.app:1234567890")
      .transform((entry): AppStoreApp => {
        const [bundleId = "", appleId] = entry.split(":");
        return { bundleId, appleId: Number(appleId) };
      }),
  ),
);

const EntitlementId = z.string().trim().min(1).max(255);
const ProductEntitlements = z.record(
  z.string().min(1),
  z.union([EntitlementId.transform((id) => [id]), z.array(EntitlementId).max(100)], {
    error: "must be an entitlement's id or an array of them",
  }),
  { error: 'must be an object such as {"price_123":["pro"]}' },
);

const ManagementUrls = z.record(
  z.string().regex(/^[A-Z_]{1,64}$/, "must be a store such as STRIPE"),
  z.url({ protocol: /^https$/, error: "must be an https URL" }),
  { error: 'must be an object such as {"STRIPE":"https://billing.stripe.com/p/login/…"}' },
);

/** `BILLING_PRODUCTS`: JSON with entitlement ids by a provider's price or product id, or the path of a file with it. */
export const productEntitlements = jsonMap(ProductEntitlements);
/** `BILLING_MANAGEMENT_URLS`: JSON with the page to manage subscriptions by store, or the path of a file with it. */
export const managementUrls = jsonMap(ManagementUrls);

function jsonMap<Value>(schema: z.ZodType<Record<string, Value>>) {
  return json(schema, "{").transform((given): ReadonlyMap<string, Value> => new Map(Object.entries(given)));
}

/** `BILLING_STRIPE_WEBHOOK_SECRET`: the signing secrets of endpoints, in live mode and in test mode. */
export const stripeSecrets = list.pipe(
  z.array(z.string().regex(/^whsec_\w{8,}$/, "must be the signing secret of a webhook endpoint: whsec_…")),
);
