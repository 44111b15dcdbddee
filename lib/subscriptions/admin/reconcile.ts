import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { readDatabaseTime } from "../../platform/db/clock";
import { timeOfId } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { countRows } from "../../platform/lists";
import type { Operator } from "../../principal";
import { reconcile } from "../reconcile/reconcile";
import { pauseApi, readPause } from "../reconcile/reconciler";
import { findAccountReferences, findReferences, type Reference } from "../references";
import { API_KEYS, openSources, sourceOf } from "../sources/find-source";
import { toCursor } from "./event-batches";
import type { CustomerPosition, ReconciledCustomer, ReconciledCustomers, Reconciliation } from "./schema";

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now" | "webhooks">;

/** The customers of one request. The provider may take five seconds for each. */
const MAX_CUSTOMERS = 20;
const MAX_REQUEST_MS = 10_000;

/**
 * Compares the purchases of an account, or the next ones of all customers, with the providers' APIs, and corrects those that
 * differ. A failure does not stop the others. If a provider limits requests, the result says how long to wait.
 * @throws AppError billing_api_not_configured
 */
export async function reconcileCustomers(
  deps: Deps,
  operator: Operator,
  { accountId, cursor, reason }: Reconciliation,
): Promise<ReconciledCustomers> {
  if (openSources(deps).length === 0) {
    const detail = `No provider has an API key: set ${API_KEYS.join(", ")}.`;
    throw new AppError("billing_api_not_configured", { detail });
  }
  const start = cursor ?? { after: null, appUserId: null };
  const given = accountId ? [await ownerOf(deps, accountId)] : await nextOwners(deps, start);
  const owners = given.map((owner, i) => (i === 0 ? withoutDone(owner, start) : owner));
  const details = {
    customers: owners.flatMap((one) => one.references).length,
    isWhole: !accountId,
    reason: reason ?? null,
  };
  const event = { type: "billing_reconciled", target: "purchases", details } as const;
  let recorded: Promise<void> | undefined;
  // Before the first customer, since each has transactions of its own: one that is interrupted has its event, too.
  const record = () => {
    recorded ??= deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, event));
    return recorded;
  };
  const result = await reconcileOwners({ ...deps, record }, owners, start);
  const isEnd = result.position === null && (accountId !== undefined || owners.length < MAX_CUSTOMERS);
  const position = result.position ?? { after: owners.at(-1)?.purchaseId ?? null, appUserId: null };
  return {
    customers: result.customers,
    retry: result.retry,
    progress: isEnd ? 1 : await progressAfter(deps, position),
    nextCursor: isEnd ? null : toCursor(position),
  };
}

/** Counts the purchases whose customers `reconcileCustomers` asks about: `MAX_COUNTED` at most. */
export function countPurchases({ db }: Pick<Deps, "db">): Promise<number> {
  return countRows(db, sql`SELECT 1 FROM "Purchase"`);
}

/** A customer with purchases: their first one, and what the providers are asked about, in order. */
type Owner = { purchaseId: string | null; references: Reference[] };

/** Leaves out the references that a request before has reconciled. */
function withoutDone({ purchaseId, references }: Owner, { appUserId: last }: CustomerPosition): Owner {
  return { purchaseId, references: references.slice(references.findIndex(({ reference }) => reference === last) + 1) };
}

async function ownerOf(deps: Deps, accountId: string): Promise<Owner> {
  return { purchaseId: null, references: await findAccountReferences(deps.db, openSources(deps), accountId) };
}

/** The customers after a position, in the order of their first purchases: each account once, and unlinked purchases. */
async function nextOwners({ billing, db }: Deps, { after }: CustomerPosition): Promise<Owner[]> {
  const sources = openSources({ billing });
  const owners: Owner[] = [];
  const purchases = await db.purchase.findMany({
    where: after ? { id: { gt: after } } : {},
    select: { id: true, accountId: true },
    orderBy: { id: "asc" },
    take: MAX_CUSTOMERS,
  });
  for (const { id, accountId } of purchases) {
    const own = accountId
      ? await db.purchase.findMany({ where: { accountId }, select: { id: true }, orderBy: { id: "asc" } })
      : [{ id }];
    const ids = own.map((purchase) => purchase.id);
    owners.push({ purchaseId: id, references: ids[0] === id ? await findReferences(db, sources, ids) : [] });
  }
  return owners;
}

/** `record`: records in the audit trail, once, that customers are reconciled. */
type Recording = Deps & { record: () => Promise<void> };

type Wait = NonNullable<ReconciledCustomers["retry"]>;

type Stop = { retry: Wait | null; appUserId: string | null };

/**
 * Reconciles customers, several at once, at the pace that each provider allows: of one customer's references, each after the
 * other. `position`: where the next request continues, if not after all of them.
 */
async function reconcileOwners(deps: Recording, owners: Owner[], start: CustomerPosition) {
  const deadline = performance.now() + MAX_REQUEST_MS;
  const customers: ReconciledCustomer[] = [];
  const pace = createPace(deps);
  let isStopped = false;
  const reconcileOwner = async ({ references }: Owner, last: string | null) => {
    const done: ReconciledCustomer[] = [];
    for (const one of references) {
      await pace(one);
      const outcome = isStopped || performance.now() > deadline ? null : await reconcileOne(deps, one);
      if (outcome && !("afterSeconds" in outcome)) done.push(outcome);
      else {
        isStopped = true;
        const stop: Stop = { retry: outcome, appUserId: done.at(-1)?.appUserId ?? last };
        return { done, stop };
      }
    }
    return { done, stop: null };
  };
  const outcomes = await Promise.all(owners.map((owner, i) => reconcileOwner(owner, i === 0 ? start.appUserId : null)));
  const retry = outcomes.find(({ stop }) => stop?.retry)?.stop?.retry ?? null;
  let { after } = start;
  for (const [i, { done, stop }] of outcomes.entries()) {
    customers.push(...done);
    if (stop) return { customers, retry, position: { after, appUserId: stop.appUserId } };
    after = owners[i]?.purchaseId ?? after;
  }
  return { customers, retry: null, position: null };
}

/** Starts the requests of a provider no faster than it allows. */
function createPace(deps: Deps): (reference: Reference) => Promise<void> {
  const nextMs = new Map<string, number>();
  return async ({ provider }) => {
    const startMs = Math.max(nextMs.get(provider) ?? 0, performance.now());
    nextMs.set(provider, startMs + sourceOf(deps, provider).intervalMs);
    await delay(Math.max(startMs - performance.now(), 0));
  };
}

async function reconcileOne(deps: Recording, { provider, reference }: Reference): Promise<ReconciledCustomer | Wait> {
  const customer = { provider, appUserId: reference };
  const pausedSeconds = await readPause(deps, provider);
  if (pausedSeconds > 0) return { appUserId: reference, afterSeconds: pausedSeconds };
  await deps.record();
  try {
    const { known, corrected } = await reconcile(deps, sourceOf(deps, provider), reference);
    return { ...customer, known, corrected, failure: null };
  } catch (error) {
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    if (retryAfterSeconds !== undefined) {
      await pauseApi(deps, provider, retryAfterSeconds);
      return { appUserId: reference, afterSeconds: retryAfterSeconds };
    }
    return { ...customer, known: 0, corrected: 0, failure: String(error) };
  }
}

/** The share of the purchases before a position, by the times of their ids. */
async function progressAfter({ db, now }: Deps, { after }: CustomerPosition): Promise<number> {
  if (after === null) return 0;
  const first = await db.purchase.findFirst({ select: { id: true }, orderBy: { id: "asc" } });
  const last = await db.purchase.findFirst({ select: { id: true }, orderBy: { id: "desc" } });
  const start = timeOfId(first?.id ?? after).getTime();
  const whole = (last ? timeOfId(last.id) : now()).getTime() - start;
  return whole <= 0 ? 0 : Math.min(Math.max((timeOfId(after).getTime() - start) / whole, 0), 1);
}

/** What is done about a provider with an API key: its pause, and how far its events were read. */
export type ProviderState = {
  provider: string;
  name: string;
  pausedUntil: Date | null;
  jobs: number;
  /** null: its API has no list of events. */
  sweep: { finishedAt: Date | null; found: number; failure: string | null } | null;
};

/** Lists the providers with an API key. */
export async function listProviderStates(deps: Pick<Context, "billing" | "db" | "dbNow">): Promise<ProviderState[]> {
  const { db } = deps;
  const [pauses, sweeps, jobs, now] = await Promise.all([
    db.billingApiPause.findMany(),
    db.billingSweep.findMany(),
    db.billingReconcileJob.groupBy({ by: ["provider"], _count: true }),
    readDatabaseTime(deps),
  ]);
  return openSources(deps).map(({ api: { name }, provider, readEvents }) => {
    const isOwn = (row: { provider: string }) => row.provider === provider;
    const pause = pauses.find(isOwn);
    const { finishedAt = null, lastFound: found = 0, failure = null } = sweeps.find(isOwn) ?? {};
    return {
      provider,
      name,
      pausedUntil: pause && pause.until > now ? pause.until : null,
      jobs: jobs.find(isOwn)?._count ?? 0,
      sweep: readEvents ? { finishedAt, found, failure } : null,
    };
  });
}
