import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { customersOf } from "../reconcile/customer-names";
import { type Reconciled, reconcileCustomer } from "../reconcile/customers";
import type { BillingRules } from "../rules";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now"> & {
  config: BillingRules;
  billing: NonNullable<Context["billing"]>;
};
/** What came of asking about a customer; before it, that the provider wants to be left alone for a while. */
export type ReconciledCustomer = { name: string } & (
  | { result: Reconciled }
  | { failure: string }
  | { waitsSeconds: number }
);

const PAGE = 500;
const MOST_ATTEMPTS = 5;
/** Whoever runs a command does not stand before it for a day because the provider said so. */
const MAX_WAIT_SECONDS = 300;

/** Asks the provider about an account: by every name it has there, or by its id where none is known. */
export async function* reconcileAccount(deps: Deps, accountId: string): AsyncGenerator<ReconciledCustomer> {
  const purchases = await deps.db.purchase.findMany({ where: { accountId }, select: { id: true } });
  const names = await customersOf(
    deps.db,
    purchases.map(({ id }) => id),
  );
  for (const name of names.length > 0 ? names : [accountId]) yield* reconcileOne(deps, name);
}

/** Asks the provider about everybody who ever bought anything. */
export async function* reconcileAll(deps: Deps): AsyncGenerator<ReconciledCustomer> {
  const asked = new Set<string>();
  let after: string | undefined;
  for (;;) {
    const purchases = await deps.db.purchase.findMany({
      where: after ? { id: { gt: after } } : {},
      select: { id: true },
      orderBy: { id: "asc" },
      take: PAGE,
    });
    if (purchases.length === 0) return;
    for (const name of await customersOf(
      deps.db,
      purchases.map(({ id }) => id),
    )) {
      if (asked.has(name)) continue;
      asked.add(name);
      yield* reconcileOne(deps, name);
    }
    after = purchases.at(-1)?.id;
  }
}

/** Waits where the provider asks for it. Whoever cannot be reconciled does not keep the others from it. */
async function* reconcileOne(deps: Deps, name: string): AsyncGenerator<ReconciledCustomer> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      yield { name, result: await reconcileCustomer(deps, name) };
      return;
    } catch (error) {
      const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
      if (retryAfterSeconds === undefined || attempts === MOST_ATTEMPTS) {
        yield { name, failure: String(error) };
        return;
      }
      const waitsSeconds = Math.min(retryAfterSeconds, MAX_WAIT_SECONDS);
      yield { name, waitsSeconds };
      await delay(waitsSeconds * 1000);
    }
  }
}
