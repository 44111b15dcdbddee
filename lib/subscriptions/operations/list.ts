import type { Context } from "../../context";

type Deps = Pick<Context, "db">;
export type Selection = {
  state?: "received" | "processed" | "ignored" | "failed";
  accountId?: string;
  /** Only events that belong to nobody. */
  unlinked?: boolean;
  limit: number;
};

/** The inbox's events, newest first. */
export function listEvents({ db }: Deps, { state, accountId, unlinked, limit }: Selection) {
  return db.billingEvent.findMany({
    where: {
      state,
      AND: [
        accountId ? { OR: [{ accountId }, { line: { accountId } }, { identities: { has: accountId } }] } : {},
        unlinked ? { accountId: null, OR: [{ lineId: null }, { line: { accountId: null } }] } : {},
      ],
    },
    select: {
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
}

/** All that is kept of an event, with its line; null for an id that is not there. Ids are the provider's. */
export function findEvents({ db }: Deps, eventId: string) {
  return db.billingEvent.findMany({ where: { eventId }, include: { line: true } });
}
