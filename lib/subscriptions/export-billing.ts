import type { Tx } from "../context";
import type { Prisma } from "../platform/db/generated/client";
import { isPseudonym, normalizeAppUserIds, possibleAccountIds } from "./app-user-ids";

/**
 * Returns all billing data about an account for its data export, oldest first: its purchases and its events, linked or
 * not, with the payloads of the deliveries. Leaves out the App User IDs of other customers.
 */
export async function exportBilling(tx: Tx, accountId: string) {
  const purchases = await tx.purchase.findMany({
    where: { OR: [{ accountId }, { accountId: null, appUserIds: { has: accountId } }] },
    omit: { reconciledAt: true, trialEndingNotifiedAt: true },
    orderBy: { createdAt: "asc" },
  });
  const linked = purchases.flatMap((purchase) => (purchase.accountId === accountId ? purchase.id : []));
  const unlinked = { accountId: null, OR: [{ appUserIds: { has: accountId } }, { purchaseId: { in: linked } }] };
  const events = await tx.billingEvent.findMany({
    where: { OR: [{ accountId }, unlinked] },
    omit: { id: true, accountId: true, purchaseId: true, attempts: true, nextAttemptAt: true },
    orderBy: { receivedAt: "asc" },
  });
  return {
    subscriptions: purchases.map(({ id: _, accountId: __, appUserIds: identities, ...purchase }) =>
      redact({ ...purchase, identities }, idsOfOthers(identities, [], accountId)),
    ),
    billingEvents: events.map(({ appUserIds: identities, facts, ...event }) => {
      // Who an operator is, and what they wrote for their colleagues, is not the owner's data.
      const { operator: _, ...normalized } = facts as Prisma.JsonObject;
      return redact({ ...event, identities, normalized }, idsOfOthers(identities, event.transferredFrom, accountId));
    }),
  };
}

/** Returns the ids of other customers: other account ids, pseudonyms, and all ids on the other side of a transfer. */
function idsOfOthers(appUserIds: string[], transferredFrom: string[], accountId: string): Set<string> {
  const isPreviousOwner = transferredFrom.includes(accountId);
  const isTransfer = transferredFrom.length > 0;
  const accountIds = new Set(possibleAccountIds(appUserIds));
  const others = appUserIds.filter(
    (id) => accountIds.has(id) || isPseudonym(id) || (isTransfer && transferredFrom.includes(id) !== isPreviousOwner),
  );
  return new Set(others.filter((id) => id !== accountId));
}

/** Removes ids from a value at any depth: elements and fields named by an id are left out, other values become null. */
function redact<T>(value: T, ids: Set<string>): T;
function redact(value: unknown, ids: Set<string>): unknown {
  const isRedacted = (item: unknown) =>
    typeof item === "string" && normalizeAppUserIds([item]).some((id) => ids.has(id));
  if (isRedacted(value)) return null;
  if (Array.isArray(value)) return value.filter((item) => !isRedacted(item)).map((item) => redact(item, ids));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (isRedacted(key) ? [] : [[key, redact(item, ids)]])),
  );
}
