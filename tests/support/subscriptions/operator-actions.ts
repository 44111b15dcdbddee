import type { BillingApis } from "@/lib/platform/adapters/billing-sources";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { prunePayloads } from "@/lib/subscriptions/admin/prune-payloads";
import { reconcileCustomers } from "@/lib/subscriptions/admin/reconcile";
import { replayBatch, replayEvent } from "@/lib/subscriptions/admin/replay-events";
import { PruneBatch, type ReconciledCustomer, Reconciliation, ReplayBatch } from "@/lib/subscriptions/admin/schema";
import { ctx } from "@/tests/support/context";

/** Somebody at the command line. */
const OPERATOR = { actor: "operator", accountId: null, source: COMMAND_LINE } as const;

/** Replays an event by the provider's id, or all of a state. Returns how many had which outcome. */
export async function replay(what: { eventId: string } | ReplayBatch["state"], deps = ctx()) {
  const counts: Record<string, number> = {};
  const count = (status: string, by = 1) => {
    counts[status] = (counts[status] ?? 0) + by;
  };
  if (typeof what === "object") {
    const found = await deps.db.billingEvent.findMany({ where: { eventId: what.eventId }, select: { id: true } });
    for (const { id } of found) count((await replayEvent(deps, OPERATOR, id)).status);
    return counts;
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const batch = await replayBatch(deps, OPERATOR, ReplayBatch.parse({ state: what, cursor }));
    for (const [status, by] of Object.entries(batch.counts)) count(status, by);
    cursor = batch.nextCursor;
  }
  return counts;
}

/** Deletes old payloads. Returns how many. */
export async function prune(days: number, deps = ctx()): Promise<number> {
  let deleted = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const config = { BILLING_PAYLOAD_RETENTION_DAYS: days };
    const batch = await prunePayloads({ ...deps, config }, OPERATOR, PruneBatch.parse({ cursor }));
    deleted += batch.deleted;
    cursor = batch.nextCursor;
  }
  return deleted;
}

/** Reconciles an account, or all customers, until the provider asks to wait. */
export async function reconcile(billing: BillingApis, accountId?: string, from?: string | null) {
  const customers: ReconciledCustomer[] = [];
  for (let cursor = from ?? undefined; ; ) {
    const request = Reconciliation.parse({ accountId, cursor });
    const { nextCursor, retry, ...batch } = await reconcileCustomers({ ...ctx(), billing }, OPERATOR, request);
    customers.push(...batch.customers);
    if (nextCursor === null || retry !== null) return { customers, nextCursor, retry };
    cursor = nextCursor;
  }
}
