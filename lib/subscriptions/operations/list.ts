import type { Context } from "../../context";

type Deps = Pick<Context, "db">;
export type Selection = {
  state?: "received" | "processed" | "ignored" | "failed";
  accountId?: string;
  /** Only events that belong to nobody yet. One that is ignored waits for nobody: it is left out, unless asked for. */
  unlinked?: boolean;
  limit: number;
};

/** The inbox's events, newest first. */
export function listEvents({ db }: Deps, { state, accountId, unlinked, limit }: Selection) {
  return db.billingEvent.findMany({
    where: {
      state: state ?? (unlinked ? { not: "ignored" } : undefined),
      AND: [
        accountId ? { OR: [{ accountId }, { purchase: { accountId } }, { appUserIds: { has: accountId } }] } : {},
        unlinked ? { accountId: null, OR: [{ purchaseId: null }, { purchase: { accountId: null } }] } : {},
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

/** All that is kept of an event, with its purchase; null for an id that is not there. Ids are the provider's. */
export function findEvents({ db }: Deps, eventId: string) {
  return db.billingEvent.findMany({ where: { eventId }, include: { purchase: true } });
}
