import type { Context, Tx } from "../context";
import { linkLines } from "./linking";
import type { SubscriptionStatus } from "./schema";
import { accountStatus, type StatusRules } from "./status";

type Deps = Pick<Context, "config" | "now"> & { db: Tx };

/** An account's subscriptions as of now, after linking what was bought under its name before it was known. */
export async function readSubscriptionStatus(
  { config, db, now }: Deps,
  accountId: string,
): Promise<SubscriptionStatus> {
  await linkLines(db, accountId);
  const lines = await db.subscriptionLine.findMany({ where: { accountId }, orderBy: { id: "asc" } });
  return accountStatus(lines, now(), statusRules(config, accountId));
}

function statusRules(config: Context["config"], accountId: string): StatusRules {
  return {
    staleLeewaySeconds: config.BILLING_STALE_LEEWAY_SECONDS,
    sandboxEntitles:
      config.BILLING_SANDBOX_ENTITLES ||
      config.BILLING_SANDBOX_TESTERS.some((tester) => tester.toLowerCase() === accountId),
  };
}
