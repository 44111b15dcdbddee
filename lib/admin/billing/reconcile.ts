import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import type { BillingRules } from "../../subscriptions/entitlement-rules";
import { findAppUserIds } from "../../subscriptions/reconcile/app-user-ids";
import { type Reconciled, reconcileCustomer } from "../../subscriptions/reconcile/reconcile-customer";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now"> & {
  config: BillingRules;
  billing: NonNullable<Context["billing"]>;
};
/** The outcome of a customer's reconciliation, or a pause before it because the provider limits requests. */
export type ReconcileResult = { appUserId: string } & (
  | { result: Reconciled }
  | { failure: string }
  | { pauseSeconds: number }
);

const PAGE_SIZE = 500;
const MAX_ATTEMPTS = 5;
/** A command does not pause for longer, whatever the provider's Retry-After. */
const MAX_PAUSE_SECONDS = 300;

/** Reconciles an account, by all of its App User IDs at the provider, or by the account's id if none is known. */
export async function* reconcileAccount(deps: Deps, accountId: string): AsyncGenerator<ReconcileResult> {
  const purchases = await deps.db.purchase.findMany({ where: { accountId }, select: { id: true } });
  const appUserIds = await findAppUserIds(
    deps.db,
    purchases.map(({ id }) => id),
  );
  for (const appUserId of appUserIds.length > 0 ? appUserIds : [accountId]) yield* reconcileWithRetry(deps, appUserId);
}

/** Reconciles all customers with purchases, once each. */
export async function* reconcileAll(deps: Deps): AsyncGenerator<ReconcileResult> {
  const reconciled = new Set<string>();
  for await (const purchaseIds of purchasePages(deps)) {
    for (const appUserId of await findAppUserIds(deps.db, purchaseIds)) {
      if (reconciled.has(appUserId)) continue;
      reconciled.add(appUserId);
      yield* reconcileWithRetry(deps, appUserId);
    }
  }
}

async function* purchasePages({ db }: Deps): AsyncGenerator<string[]> {
  let after: string | undefined;
  for (;;) {
    const purchases = await db.purchase.findMany({
      where: after ? { id: { gt: after } } : {},
      select: { id: true },
      orderBy: { id: "asc" },
      take: PAGE_SIZE,
    });
    if (purchases.length === 0) return;
    yield purchases.map(({ id }) => id);
    after = purchases.at(-1)?.id;
  }
}

/** Pauses as long as the provider asks for. A failure does not stop the command. */
async function* reconcileWithRetry(deps: Deps, appUserId: string): AsyncGenerator<ReconcileResult> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      yield { appUserId, result: await reconcileCustomer(deps, appUserId) };
      return;
    } catch (error) {
      const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
      if (retryAfterSeconds === undefined || attempts === MAX_ATTEMPTS) {
        yield { appUserId, failure: String(error) };
        return;
      }
      const pauseSeconds = Math.min(retryAfterSeconds, MAX_PAUSE_SECONDS);
      yield { appUserId, pauseSeconds };
      await delay(pauseSeconds * 1000);
    }
  }
}
