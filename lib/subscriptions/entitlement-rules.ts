import type { Context, Tx } from "../context";
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

/** `isTester`: whether the account is a sandbox tester now, besides those that the configuration lists. */
export function statusRules(config: BillingRules, accountId: string, isTester: boolean): StatusRules {
  return {
    staleLeewaySeconds: config.BILLING_STALE_LEEWAY_SECONDS,
    isSandboxEntitled: isTester || isConfiguredTester(config, accountId),
    managementUrls: config.BILLING_MANAGEMENT_URLS,
  };
}

/** Whether the configuration makes the account a sandbox tester, for as long as it says so. */
export function isConfiguredTester(config: BillingRules, accountId: string): boolean {
  const { BILLING_SANDBOX_ENTITLES: isAnyAccount, BILLING_SANDBOX_TESTERS: testers } = config;
  return isAnyAccount || testers.some((tester) => tester.toLowerCase() === accountId);
}

type Owned = { accountId: string | null; environment: string };

/**
 * Returns a function that has the rules for each owner of some purchases. Looks up sandbox testers among the owners of purchases
 * outside of production only.
 */
export async function readStatusRules(
  db: Tx,
  { config, now }: Pick<Context, "now"> & { config: BillingRules },
  purchases: readonly Owned[],
): Promise<(accountId: string) => StatusRules> {
  const owners = new Set(
    purchases.flatMap(({ accountId, environment }) => (environment === "PRODUCTION" ? [] : (accountId ?? []))),
  );
  const where = { id: { in: [...owners] }, sandboxUntil: { gt: now() } };
  const testers = owners.size > 0 ? await db.account.findMany({ where, select: { id: true } }) : [];
  const ids = new Set(testers.map(({ id }) => id));
  return (accountId) => statusRules(config, accountId, ids.has(accountId));
}

/** Whether a purchase can give access. A purchase without an environment is not production. */
export function canEntitle({ environment }: { environment: string }, { isSandboxEntitled }: StatusRules): boolean {
  return environment === "PRODUCTION" || isSandboxEntitled;
}
