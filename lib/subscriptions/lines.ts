import type { Tx } from "../context";
import { EventFacts, type LineEvent, LineEventType } from "./events";
import { foldLine } from "./fold";

/** What makes events one line. */
export type LineKey = { provider: string; environment: string; store: string; originalTransactionId: string };

/** Locks a line until the transaction ends, making it where it is new. Returns its id. */
export async function lockLine(tx: Tx, key: LineKey, at: Date): Promise<string> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO "SubscriptionLine"
      (id, provider, environment, store, "originalTransactionId", identities, "entitlementIds", "createdAt", "updatedAt")
    VALUES (gen_random_uuid(), ${key.provider}, ${key.environment}, ${key.store}, ${key.originalTransactionId},
      '{}', '{}', ${at}::timestamptz, ${at}::timestamptz)
    ON CONFLICT (provider, environment, store, "originalTransactionId")
      DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
    RETURNING id`;
  const [row] = rows;
  if (!row) throw new Error("An upsert returned no row");
  return row.id;
}

/**
 * Folds a line anew from its processed events. It belongs to the account that its newest event with a known one
 * names. The line is locked by the caller.
 */
export async function refoldLine(tx: Tx, lineId: string, at: Date): Promise<void> {
  const rows = await tx.billingEvent.findMany({
    where: { lineId, state: "processed" },
    select: { eventId: true, type: true, normalized: true, identities: true, accountId: true },
  });
  const events = rows.map(({ eventId, type, normalized, identities, accountId }) => ({
    fact: { id: eventId, type: LineEventType.parse(type), ...EventFacts.parse(normalized) } satisfies LineEvent,
    identities,
    accountId,
  }));
  const newestFirst = events.toSorted(
    (a, b) => b.fact.occurredAt.getTime() - a.fact.occurredAt.getTime() || (a.fact.id < b.fact.id ? 1 : -1),
  );
  await tx.subscriptionLine.updateMany({
    where: { id: lineId },
    data: {
      ...foldLine(events.map(({ fact }) => fact)),
      accountId: newestFirst.find(({ accountId }) => accountId !== null)?.accountId ?? null,
      identities: [...new Set(newestFirst.flatMap(({ identities }) => identities))],
      updatedAt: at,
    },
  });
}
