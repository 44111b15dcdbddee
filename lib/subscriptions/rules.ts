import type { Config } from "../config";

/** The part of the configuration that decides what a purchase is worth. */
export type BillingRules = Pick<
  Config,
  "BILLING_SANDBOX_ENTITLES" | "BILLING_SANDBOX_TESTERS" | "BILLING_STALE_LEEWAY_SECONDS"
>;

/** `sandboxEntitles`: whether other environments than production give this account access. */
export type StatusRules = { staleLeewaySeconds: number; sandboxEntitles: boolean };

/** The rules for one account, as configured. */
export function statusRules(config: BillingRules, accountId: string): StatusRules {
  return {
    staleLeewaySeconds: config.BILLING_STALE_LEEWAY_SECONDS,
    sandboxEntitles:
      config.BILLING_SANDBOX_ENTITLES ||
      config.BILLING_SANDBOX_TESTERS.some((tester) => tester.toLowerCase() === accountId),
  };
}

/** Only production counts, unless sandbox purchases do for this account. An environment not named is no production. */
export function counts({ environment }: { environment: string }, { sandboxEntitles }: StatusRules): boolean {
  return environment === "PRODUCTION" || sandboxEntitles;
}
