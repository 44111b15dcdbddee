import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { possibleAccountIds } from "../app-user-ids";
import { applyEvent, type EventKey } from "../inbox/apply";
import { keptNames, ownerIds } from "../inbox/store";
import { providerNamed } from "../providers/configured";
import type { BillingRules } from "../rules";
import { findEvents } from "./list";
import { eventPages } from "./pages";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now"> & { config: BillingRules };

/** Which events to apply anew: one, those that failed, or those in every state. */
export type Replay = { eventId: string } | { state: "failed" | "ignored" | "received" } | "all";
export type Replayed = EventKey & { type: string; status: "processed" | "duplicate" | "ignored" | "failed" };

/**
 * Applies events anew, oldest first, each read again from its delivery where that is kept: an event that was
 * stored before the service understood it is understood now. Nobody is told twice of what has been told.
 */
export async function* replayEvents(deps: Deps, replay: Replay): AsyncGenerator<Replayed> {
  for await (const id of idsOf(deps, replay)) {
    const row = await deps.db.billingEvent.findUnique({ where: { id } });
    if (!row) continue;
    const key = { provider: row.provider, eventId: row.eventId };
    const { type, accountIds } = await readAgain(deps, row);
    const { status } = await applyEvent(deps, key, accountIds, { anew: true });
    yield { ...key, type, status };
  }
}

async function* idsOf({ db, now }: Deps, replay: Replay): AsyncGenerator<string> {
  if (replay !== "all" && "eventId" in replay) {
    for (const { id } of await findEvents({ db }, replay.eventId)) yield id;
    return;
  }
  // Those that come meanwhile are new enough.
  for await (const page of eventPages(db, now(), replay === "all" ? null : [replay.state])) yield* page;
}

type Row = NonNullable<Awaited<ReturnType<Deps["db"]["billingEvent"]["findUnique"]>>>;

/** Writes down what the reader makes of a delivery today. Without one, what it made of it then stands. */
async function readAgain({ db }: Deps, row: Row): Promise<{ type: string; accountIds: string[] }> {
  const provider = providerNamed(row.provider);
  if (row.payload === null || !provider) return { type: row.type, accountIds: possibleAccountIds(row.appUserIds) };
  const event = provider.read(row.payload, row.receivedAt);
  const { facts, ...columns } = event;
  const accountIds = ownerIds(event);
  await withRetry(async () => {
    const accounts = await db.account.findMany({ where: { id: { in: accountIds } }, select: { id: true } });
    const accountId = accountIds.find((id) => accounts.some((account) => account.id === id)) ?? null;
    await db.billingEvent.updateMany({
      where: { id: row.id, appUserIds: { equals: row.appUserIds } }, // not what a deletion has made nameless meanwhile
      data: {
        ...columns,
        ...keptNames(event),
        ...{ accountId, occurredAt: facts.occurredAt, purchasedAt: facts.purchasedAt, facts: facts },
      },
    });
  });
  return { type: event.type, accountIds };
}
