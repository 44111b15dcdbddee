import { revenueCat } from "../providers/revenuecat";
import { readCustomer } from "../providers/revenuecat-customer";
import type { Api, Source } from "./source";

export const REVENUECAT: Api = { name: "RevenueCat", setting: "BILLING_API_KEY" };

export const revenueCatSource: Source = {
  provider: revenueCat.name,
  api: REVENUECAT,
  isOpen: ({ billing }) => billing.revenuecat !== null,
  intervalMs: 125, // 480 requests a minute ("Rate Limits", Customer Information)
  readPurchases: async ({ billing }, appUserId, requestedAt) => {
    const customer = await billing.revenuecat?.getCustomer(appUserId);
    return readCustomer(customer, appUserId, requestedAt).map((event) => ({
      provider: revenueCat.name,
      email: null,
      toEvent: () => ({ event, toPayload: null }),
    }));
  },
};
