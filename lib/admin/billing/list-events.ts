import type { Context } from "../../context";

type Deps = Pick<Context, "db">;
export type Selection = {
  state?: "received" | "processed" | "ignored" | "failed";
  accountId?: string;
  /** Only events without an account. Ignored events, which never get one, are left out unless `state` selects them. */
  isUnlinked?: boolean;
  limit: number;
};

/** Lists the events in the inbox, newest first. */
export function listBillingEvents({ db }: Deps, { state, accountId, isUnlinked, limit }: Selection) {
  return db.billingEvent.findMany({
    where: {
      state: state ?? (isUnlinked ? { not: "ignored" } : undefined),
      AND: [
        accountId ? { OR: [{ accountId }, { purchase: { accountId } }, { appUserIds: { has: accountId } }] } : {},
        isUnlinked ? { accountId: null, OR: [{ purchaseId: null }, { purchase: { accountId: null } }] } : {},
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

/** Returns the events with a provider's id, one per provider, each with its purchase. */
export function findBillingEvents({ db }: Deps, eventId: string) {
  return db.billingEvent.findMany({ where: { eventId }, include: { purchase: true } });
}
