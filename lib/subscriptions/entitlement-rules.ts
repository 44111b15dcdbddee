import type { Config } from "../platform/config";

/** The part of the configuration that decides which purchases give access, and what else a status has. */
export type BillingRules = Pick<
  Config,
  | "BILLING_MANAGEMENT_URLS"
  | "BILLING_PRODUCTS"
  | "BILLING_SANDBOX_ENTITLES"
  | "BILLING_SANDBOX_TESTERS"
  | "BILLING_STALE_LEEWAY_SECONDS"
>;

/**
 * The rules for one account. `isSandboxEntitled`: purchases of other environments than production give it access.
 * `managementUrls`: the company's pages to manage subscriptions, by store.
 */
export type StatusRules = {
  staleLeewaySeconds: number;
  isSandboxEntitled: boolean;
  managementUrls: ReadonlyMap<string, string>;
};

export function statusRules(config: BillingRules, accountId: string): StatusRules {
  return {
    staleLeewaySeconds: config.BILLING_STALE_LEEWAY_SECONDS,
    isSandboxEntitled:
      config.BILLING_SANDBOX_ENTITLES ||
      config.BILLING_SANDBOX_TESTERS.some((tester) => tester.toLowerCase() === accountId),
    managementUrls: config.BILLING_MANAGEMENT_URLS,
  };
}

/** Whether a purchase can give access. A purchase without an environment is not production. */
export function canEntitle({ environment }: { environment: string }, { isSandboxEntitled }: StatusRules): boolean {
  return environment === "PRODUCTION" || isSandboxEntitled;
}
