import { afterAll, beforeEach } from "vitest";
import { createBillingApi } from "@/lib/platform/adapters/billing-api";
import { createReconciler, reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { revenueCatSource } from "@/lib/subscriptions/sources/revenuecat";
import { ctx, withContext } from "@/tests/support/context";
import { startRevenueCat } from "./revenuecat";

/** Starts the fake for a test file, and resets it and the reconcile jobs before each test. */
export async function setUpRevenueCat() {
  const revenueCat = await startRevenueCat();
  afterAll(() => revenueCat.close());
  beforeEach(async () => {
    revenueCat.respondWith();
    revenueCat.asked.length = 0;
    await ctx().db.$transaction([ctx().db.billingReconcileJob.deleteMany(), ctx().db.billingApiPause.deleteMany()]);
  });
  const billing = () => {
    const api = createBillingApi({ ...ctx().config, ...revenueCat.config });
    return { ...ctx().billing, revenuecat: api };
  };
  /** Runs with an API key and a reconciler of its own. */
  const withKey = async (run: () => Promise<void>): Promise<void> => {
    const apis = billing();
    const reconciler = createReconciler({ ...ctx(), billing: apis });
    await withContext({ billing: apis, reconciler }, run).finally(reconciler.close);
  };
  /** Runs the jobs that are due, as the service does periodically. */
  const runDueJobs = async (): Promise<void> => {
    while (await reconcileNext({ ...ctx(), billing: billing() }, revenueCatSource));
  };
  return { revenueCat, billing, withKey, runDueJobs };
}
