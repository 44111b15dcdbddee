import type { Context } from "../../context";
import type { BillingEventState } from "../../db/generated/client";

type Deps = Pick<Context, "db">;
export type Selection = {
  state?: BillingEventState;
  accountId?: string;
  /** Only events without an account. Ignored events, which never get one, are left out unless `state` selects them. */
  isUnlinked?: boolean;
  limit: number;
};

const STATES: BillingEventState[] = ["received", "processed", "ignored", "failed"];

/** Lists the events in the inbox, newest first. Reads each state by the index on state and time. */
export async function listBillingEvents({ db }: Deps, { state, accountId, isUnlinked, limit }: Selection) {
  const ids = accountId ? { id: { in: await findEventIds({ db }, accountId) } } : {};
  const unlinked = isUnlinked ? { accountId: null, OR: [{ purchaseId: null }, { purchase: { accountId: null } }] } : {};
  const states = state ? [state] : STATES.filter((one) => !isUnlinked || one !== "ignored");
  const events = [];
  for (const one of states) {
    const page = await db.billingEvent.findMany({
      where: { state: one, ...ids, ...unlinked },
      select: {
        id: true,
        eventId: true,
        type: true,
        state: true,
        reason: true,
        environment: true,
        store: true,
        receivedAt: true,
        accountId: true,
      },
      orderBy: [{ receivedAt: "desc" }, { id: "desc" }],
      take: limit,
    });
    events.push(...page);
  }
  return events
    .toSorted((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime() || (a.id < b.id ? 1 : -1))
    .slice(0, limit)
    .map(({ id: _, ...event }) => event);
}

/** Finds the events of an account: linked to it, of its purchases, or naming it. */
async function findEventIds({ db }: Deps, accountId: string): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM "BillingEvent" WHERE "accountId" = ${accountId}::uuid
    UNION SELECT event.id FROM "Purchase" AS purchase JOIN "BillingEvent" AS event ON event."purchaseId" = purchase.id
      WHERE purchase."accountId" = ${accountId}::uuid
    UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" @> ARRAY[${accountId}]`;
  return rows.map(({ id }) => id);
}

/** Returns the events with a provider's id, one per provider, each with its purchase. */
export function findBillingEvents({ db }: Deps, eventId: string) {
  return db.billingEvent.findMany({ where: { eventId }, include: { purchase: true } });
}
