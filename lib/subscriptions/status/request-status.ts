import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Context, Tx } from "../../context";
import { AppError, isAppError, rateLimited } from "../../errors";
import { batchLoad } from "../../platform/db/batch-load";
import { perObject } from "../../platform/per-object";
import { reconcileNow } from "../reconcile/reconciler";
import { sweepNow } from "../reconcile/sweep";
import { findAccountReferences } from "../references";
import { type StatusQuery, SubscriptionStatus } from "../schema";
import { openSources, sourceOf } from "../sources/find-source";
import { readSubscriptionStatus } from "./read-status";

type Deps = Parameters<typeof readSubscriptionStatus>[0] &
  Pick<Context, "count" | "isDraining" | "limits" | "removeDevices" | "webhooks" | "withdrawConsent">;
type Principal = Parameters<typeof readSubscriptionStatus>[1];
/** The HTTP request. `aborted`: its client is gone, as of the reading of `signal`. */
type Connection = { signal?: { readonly aborted: boolean } };

/** How often the purchases of all waiting requests are read. */
const POLL_MS = 1_000;
/** The maximum number of requests of a process that wait, and of one account. */
const MAX_WAITING = 1_000;
const MAX_WAITING_PER_ACCOUNT = 5;

/** How many requests wait, by account. */
const waiting = new Map<string, number>();
let waitingCount = 0;

/**
 * Returns the status of an account. With `fresh`, reconciles the account first. With `since` and `wait`, returns once
 * the opaque tag differs from `since`, after `wait` seconds, or when the process stops or the client is gone.
 * @throws AppError rate_limited if five requests of the account wait; overloaded if too many of the process do
 */
export async function requestStatus(
  ctx: Deps,
  principal: Principal,
  { fresh, since, wait = 0 }: StatusQuery,
  request: Connection,
): Promise<SubscriptionStatus> {
  const isFresh = fresh === undefined ? undefined : await refreshPurchases(ctx, principal.account.id);
  const status = await readSubscriptionStatus(ctx, principal);
  const isWaiting = since !== undefined && wait > 0 && serializeStatus(status).opaqueTag === since;
  return { ...(isWaiting ? await awaitChange(ctx, principal, { since, wait }, request) : status), isFresh };
}

/**
 * A status as JSON, and the opaque part of its weak entity tag (RFC 9110, section 8.8.3), which leaves out when and how
 * it was computed.
 */
export function serializeStatus(status: SubscriptionStatus): { json: string; opaqueTag: string } {
  const { checkedAt, isFresh, ...state } = SubscriptionStatus.parse(status);
  const json = JSON.stringify(state);
  const opaqueTag = createHash("sha256").update(json).digest("base64url").slice(0, 22);
  return { json: `${json.slice(0, -1)},${JSON.stringify({ isFresh, checkedAt }).slice(1)}`, opaqueTag };
}

/** Waits without a database connection or a transaction. A change by time alone is noticed at the end. */
async function awaitChange(
  ctx: Deps,
  principal: Principal,
  { since, wait }: Required<Pick<StatusQuery, "since" | "wait">>,
  request: Connection,
): Promise<SubscriptionStatus> {
  const { id } = principal.account;
  const endMs = performance.now() + wait * 1000;
  enter(id, wait);
  try {
    for (let known: string | undefined; ; ) {
      const version = await readVersion(ctx.db, id);
      const isEnd = ctx.isDraining || request.signal?.aborted || performance.now() >= endMs;
      if (version !== known || isEnd) {
        const status = await readSubscriptionStatus(ctx, principal);
        if (isEnd || serializeStatus(status).opaqueTag !== since) return status;
        known = version;
      }
      await nextPoll();
    }
  } finally {
    leave(id);
  }
}

/** Waits for the next poll, at the same time for all requests: one statement then reads a hundred accounts. */
function nextPoll(): Promise<void> {
  return delay(POLL_MS - (Math.floor(performance.now()) % POLL_MS));
}

/** Reads the number of an account's purchases and of the transactions that wrote them, which change with any of them. */
const readVersion = batchLoad(async (db: Tx, accountIds) => {
  const rows = await db.$queryRaw<{ id: string; version: string }[]>`
    SELECT "accountId"::text AS id, count(*) || ' ' || sum(xmin::text::bigint) AS version
    FROM "Purchase" WHERE "accountId" = ANY(${accountIds}::uuid[]) GROUP BY "accountId"`;
  return new Map(rows.map(({ id, version }) => [id, version]));
});

function enter(accountId: string, seconds: number): void {
  const ofAccount = waiting.get(accountId) ?? 0;
  if (ofAccount >= MAX_WAITING_PER_ACCOUNT) {
    throw rateLimited({ name: "waitingByAccount", points: MAX_WAITING_PER_ACCOUNT, seconds }, POLL_MS);
  }
  if (waitingCount >= MAX_WAITING) throw new AppError("overloaded");
  waiting.set(accountId, ofAccount + 1);
  waitingCount += 1;
}

function leave(accountId: string): void {
  const ofAccount = (waiting.get(accountId) ?? 1) - 1;
  if (ofAccount > 0) waiting.set(accountId, ofAccount);
  else waiting.delete(accountId);
  waitingCount -= 1;
}

/** The reconciliations in progress, by account. */
const runningOf = perObject((_billing: Deps["billing"]) => new Map<string, Promise<boolean>>());

/**
 * Reconciles an account with the providers, for a purchase whose event has not arrived yet: at most once a minute, and
 * once for all callers of this process. Waits for `BILLING_FRESH_TIMEOUT_MS`; the reconciliation continues after that.
 * Returns whether it has succeeded. Never throws.
 */
async function refreshPurchases(deps: Deps, accountId: string): Promise<boolean> {
  if (openSources(deps).length === 0) return false;
  const running = runningOf(deps.billing);
  const started = running.get(accountId) ?? refresh(deps, accountId);
  running.set(accountId, started);
  return Promise.race([started, delay(deps.config.BILLING_FRESH_TIMEOUT_MS, false, { ref: false })]);
}

async function refresh(deps: Deps & Parameters<typeof reconcileNow>[0], accountId: string): Promise<boolean> {
  try {
    await deps.limits.consume("freshStatusByAccount", accountId);
    const outcomes = [await sweepNow(deps)];
    const references = await findAccountReferences(deps.db, openSources(deps), accountId);
    for (const { provider, reference } of references) {
      outcomes.push(await reconcileNow(deps, sourceOf(deps, provider), reference));
    }
    return outcomes.every(Boolean);
  } catch (error) {
    const isLimited = isAppError(error) && error.code === "rate_limited";
    if (!isLimited) deps.log.warn({ err: error }, "an account was not reconciled for its status");
    return false;
  } finally {
    runningOf(deps.billing).delete(accountId);
  }
}
