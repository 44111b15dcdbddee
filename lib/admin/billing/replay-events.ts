import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { possibleAccountIds } from "../../subscriptions/app-user-ids";
import type { BillingRules } from "../../subscriptions/entitlement-rules";
import { applyEvent } from "../../subscriptions/inbox/apply-event";
import type { EventKey } from "../../subscriptions/inbox/lock-events";
import { ownerAccountIds, storedAppUserIds } from "../../subscriptions/inbox/store-events";
import { findProvider } from "../../subscriptions/providers/configured";
import { eventPages } from "./event-pages";
import { findBillingEvents } from "./list-events";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & { config: BillingRules };

/** The events to apply again: one event, those in one state, or all. */
export type ReplaySelection = { eventId: string } | { state: "failed" | "ignored" | "received" } | "all";
export type ReplayResult = EventKey & { type: string; status: "processed" | "duplicate" | "ignored" | "failed" };

/**
 * Applies events again, oldest first. Parses each payload that is still stored again, so that this version's reader and
 * rules also apply to older events. Sends no notification for an event that was processed before.
 */
export async function* replayEvents(deps: Deps, selection: ReplaySelection): AsyncGenerator<ReplayResult> {
  for await (const id of selectedIds(deps, selection)) {
    const row = await deps.db.billingEvent.findUnique({ where: { id } });
    if (!row) continue;
    const key = { provider: row.provider, eventId: row.eventId };
    const { type, accountIds } = await reparse(deps, row);
    const { status } = await applyEvent(deps, { ...key, accountIds }, { isReplay: true });
    yield { ...key, type, status };
  }
}

async function* selectedIds({ db, now }: Deps, selection: ReplaySelection): AsyncGenerator<string> {
  if (selection !== "all" && "eventId" in selection) {
    for (const { id } of await findBillingEvents({ db }, selection.eventId)) yield id;
    return;
  }
  // Events that arrive during the replay are applied by this version anyway.
  for await (const page of eventPages(db, now(), selection === "all" ? null : [selection.state])) yield* page;
}

type Row = NonNullable<Awaited<ReturnType<Deps["db"]["billingEvent"]["findUnique"]>>>;

/** Parses a stored payload again and updates the event's columns. Without a payload they stay as they are. */
async function reparse({ db }: Deps, row: Row): Promise<{ type: string; accountIds: string[] }> {
  const provider = findProvider(row.provider);
  if (row.payload === null || !provider) return { type: row.type, accountIds: possibleAccountIds(row.appUserIds) };
  const event = provider.read(row.payload, row.receivedAt);
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
