import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { isAppError } from "../../errors";
import { findAppUserId } from "../reconcile/app-user-ids";
import { reconcileNow } from "../reconcile/reconciler";

type Deps = Pick<Context, "billing" | "config" | "count" | "db" | "dbNow" | "limits" | "log" | "now" | "webhooks">;

/** The reconciliations in progress, by account. */
const running = new Map<string, Promise<boolean>>();

/**
 * Reconciles an account with the provider, for a purchase whose event has not arrived yet: at most once a minute, and
 * once for all callers of this process. Waits for `BILLING_FRESH_TIMEOUT_MS`; the reconciliation continues after that.
 * Returns whether it has succeeded. Never throws.
 */
export async function refreshPurchases(deps: Deps, accountId: string): Promise<boolean> {
  const { billing, config } = deps;
  if (!billing) return false;
  const started = running.get(accountId) ?? refresh({ ...deps, billing }, accountId);
  running.set(accountId, started);
  return Promise.race([started, delay(config.BILLING_FRESH_TIMEOUT_MS, false, { ref: false })]);
}

async function refresh(deps: Parameters<typeof reconcileNow>[0] & Deps, accountId: string): Promise<boolean> {
  try {
    await deps.limits.consume("freshStatusByAccount", accountId);
    return await reconcileNow(deps, await findAppUserId(deps.db, accountId));
  } catch (error) {
    const isLimited = isAppError(error) && error.code === "rate_limited";
    if (!isLimited) deps.log.warn({ err: error }, "an account was not reconciled for its status");
    return false;
  } finally {
    running.delete(accountId);
  }
}
