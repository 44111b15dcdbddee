import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { withRetry } from "../../platform/db/transaction";
import type { Operator } from "../../principal";
import { possibleAccountIds } from "../app-user-ids";
import type { BillingRules } from "../entitlement-rules";
import { CONSENT_WITHDRAWN } from "../events";
import type { Applied } from "../inbox/apply";
import { applyWithdrawal } from "../inbox/consent";
import { applyEvent } from "../inbox/inbox";
import { nameAccounts } from "../inbox/name-accounts";
import { ownerAccountIds, storedAppUserIds } from "../inbox/store";
import { findProvider } from "../providers/find-provider";
import { type Position, progressOf, readBatch, toCursor } from "./event-batches";
import type { ReplayBatch, ReplayedBatch, ReplayedEvent } from "./schema";

type Deps = Pick<
  Context,
  "billing" | "db" | "dbNow" | "log" | "now" | "removeDevices" | "webhooks" | "withdrawConsent"
> & { config: BillingRules & Pick<Context["config"], "BILLING_PRODUCTS" | "CONSENT_WITHDRAWAL_SUSPENDS"> };
type Row = NonNullable<Awaited<ReturnType<Deps["db"]["billingEvent"]["findUnique"]>>>;

/** A request for many events ends after this time, and another request continues. */
const MAX_BATCH_MS = 5_000;

/**
 * Applies an event again. Parses its payload again, if it is still stored, so that this version's reader and rules also
 * apply to older events. Sends no notification for an event that was processed before. Two operators may do this at the
 * same time: the event is locked, and counts once. @throws AppError not_found
 */
export async function replayEvent(deps: Deps, operator: Operator, id: string, { reason }: { reason?: string } = {}) {
  let recorded: string | undefined;
  const record = async (tx: Tx, { status }: { status: string }) => {
    const details = { status, reason: reason ?? null };
    const event = { type: "billing_event_replayed", target: `billing-event:${id}`, details } as const;
    await recordOperatorEvent(tx, deps.now(), operator, event);
    recorded = status;
  };
  const replayed = await applyAgain(deps, id, record);
  if (replayed === null) throw new AppError("not_found");
  // The transaction of an event that cannot be applied is rolled back.
  if (recorded !== replayed.status) await deps.db.$transaction((tx) => record(tx, replayed));
  return replayed;
}

/**
 * Applies the next events of a state again, oldest first: `limit` at most, and for five seconds. Events that arrive after
 * the first request are left out: this version applies them anyway. A request can be repeated.
 */
export async function replayBatch(deps: Deps, operator: Operator, { state, limit, cursor, reason }: ReplayBatch) {
  const selection = { states: state === "all" ? null : [state], take: limit };
  const { events, isEnd } = await readBatch(deps.db, cursor ?? { until: deps.now() }, selection);
  const [first] = events;
  if (!first) return { counts: {}, failures: [], progress: 1, nextCursor: null };
  // First, since each event has a transaction of its own: a replay that is interrupted has its event, too.
  const details = { state, events: events.length, reason: reason ?? null };
  const audited = { type: "billing_events_replayed", target: "billing-events", details } as const;
  await deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, audited));
  const deadline = performance.now() + MAX_BATCH_MS;
  const counts: ReplayedBatch["counts"] = {};
  const failures: ReplayedEvent[] = [];
  let last: Position = first;
  for (const event of events) {
    const replayed = await applyAgain(deps, event.id);
    if (replayed) counts[replayed.status] = (counts[replayed.status] ?? 0) + 1;
    if (replayed?.status === "failed") failures.push(replayed);
    last = event;
    if (performance.now() > deadline) break;
  }
  if (isEnd && last === events.at(-1)) return { counts, failures, progress: 1, nextCursor: null };
  return { counts, failures, progress: progressOf(last), nextCursor: toCursor(last) };
}

/** Returns the outcome; null if there is no such event. `inTransaction` runs in the transaction that applies the event. */
async function applyAgain(deps: Deps, id: string, inTransaction?: (tx: Tx, applied: Applied) => Promise<void>) {
  const row = await deps.db.billingEvent.findUnique({ where: { id } });
  if (!row) return null;
  const { provider, eventId } = row;
  const { type, accountIds } = await parseAgain(deps, row);
  const { status } =
    type === CONSENT_WITHDRAWN
      ? await applyWithdrawal(deps, { provider, eventId }, { also: inTransaction })
      : await applyEvent(deps, { provider, eventId, accountIds }, { isReplay: true, inTransaction });
  const after = await deps.db.billingEvent.findUniqueOrThrow({ where: { id }, select: { reason: true } });
  return { id, eventId, type, status, reason: after.reason };
}

/** Parses a stored payload again and updates the event's columns. Without a payload they stay as they are. */
async function parseAgain({ config, db }: Deps, row: Row): Promise<{ type: string; accountIds: string[] }> {
  const provider = findProvider(row.provider);
  if (row.payload === null || !provider) return { type: row.type, accountIds: possibleAccountIds(row.appUserIds) };
  const read = provider.read(row.payload, row.receivedAt, config.BILLING_PRODUCTS);
  const [event = read] = await nameAccounts(db, [read]);
  const { facts, ...columns } = event;
  const { occurredAt, purchasedAt } = facts;
  const accountIds = ownerAccountIds(event);
  await withRetry(async () => {
    const accounts = await db.account.findMany({ where: { id: { in: accountIds } }, select: { id: true } });
    const accountId = accountIds.find((id) => accounts.some((account) => account.id === id)) ?? null;
    await db.billingEvent.updateMany({
      where: { id: row.id, appUserIds: { equals: row.appUserIds } }, // not if the account was deleted meanwhile
      data: { ...columns, ...storedAppUserIds(event), accountId, occurredAt, purchasedAt, facts },
    });
  });
  return { type: event.type, accountIds };
}
