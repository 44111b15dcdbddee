import type { Config } from "../config";

/** The part of the configuration that decides which purchases give access. */
export type BillingRules = Pick<
  Config,
  "BILLING_SANDBOX_ENTITLES" | "BILLING_SANDBOX_TESTERS" | "BILLING_STALE_LEEWAY_SECONDS"
>;

/** The rules for one account. `isSandboxEntitled`: purchases of other environments than production give it access. */
export type StatusRules = { staleLeewaySeconds: number; isSandboxEntitled: boolean };

/** Returns the rules for one account from the configuration. */
export function statusRules(config: BillingRules, accountId: string): StatusRules {
  return {
    staleLeewaySeconds: config.BILLING_STALE_LEEWAY_SECONDS,
    isSandboxEntitled:
      config.BILLING_SANDBOX_ENTITLES ||
      config.BILLING_SANDBOX_TESTERS.some((tester) => tester.toLowerCase() === accountId),
  };
}

/** Whether a purchase can give access. A purchase without an environment is not production. */
export function canEntitle({ environment }: { environment: string }, { isSandboxEntitled }: StatusRules): boolean {
  return environment === "PRODUCTION" || isSandboxEntitled;
}
