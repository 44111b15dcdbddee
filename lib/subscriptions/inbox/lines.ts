import type { Tx } from "../../context";
import type { SubscriptionLine } from "../../db/generated/client";
import { EventFacts, LineEventType } from "../events";
import { foldLine, type LineState } from "../fold";
import { possibleAccountIds } from "../identities";
import { ownerNames } from "../ownership";
import { aliasesIn, connectedPeople, transfersFor } from "./identity-changes";

/** What makes events one line. */
export type LineKey = { provider: string; environment: string; store: string; originalTransactionId: string };

/** A line as it was before it was folded anew, its state now, and whose it is now. */
export type Refolded = { before: SubscriptionLine; after: LineState; accountId: string | null };

type EventRow = {
  eventId: string;
  type: string;
  occurredAt: Date;
  identities: string[];
  normalized: unknown;
  accountId: string | null;
};

/** Locks a line until the transaction ends, making it where it is new. */
export async function lockLine(tx: Tx, key: LineKey, at: Date): Promise<SubscriptionLine> {
  const [row] = await tx.$queryRaw<SubscriptionLine[]>`
    INSERT INTO "SubscriptionLine"
      (id, provider, environment, store, "originalTransactionId", identities, "entitlementIds", "createdAt", "updatedAt")
    VALUES (gen_random_uuid(), ${key.provider}, ${key.environment}, ${key.store}, ${key.originalTransactionId},
      '{}', '{}', ${at}::timestamptz, ${at}::timestamptz)
    ON CONFLICT (provider, environment, store, "originalTransactionId")
      DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
    RETURNING *`;
  if (!row) throw new Error("An upsert returned no row");
  return row;
}

/** Locks lines that are there, in an order in which nobody waits in a circle. */
export function lockLines(tx: Tx, ids: string[]): Promise<SubscriptionLine[]> {
  return tx.$queryRaw`SELECT * FROM "SubscriptionLine" WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE`;
}

/** Folds a line anew from its processed events, and settles whose it is. The caller holds its lock. */
export async function refoldLine(tx: Tx, before: SubscriptionLine, at: Date): Promise<Refolded> {
  const events = await tx.$queryRaw<EventRow[]>`
    SELECT "eventId", type, "occurredAt", identities, normalized, "accountId" FROM "BillingEvent"
    WHERE "lineId" = ${before.id}::uuid AND state = 'processed'`;
  const after = foldLine(
    events.map(({ eventId, type, normalized }) => ({
      id: eventId,
      type: LineEventType.parse(type),
      ...EventFacts.parse(normalized),
    })),
  );
  const owner = await findOwner(tx, before, events);
  await tx.subscriptionLine.updateMany({ where: { id: before.id }, data: { ...after, ...owner, updatedAt: at } });
  return { before, after, accountId: owner.accountId };
}

/** Whose a line is by all that is stored: the first account among its owner's names, and these names. */
async function findOwner(tx: Tx, line: SubscriptionLine, events: EventRow[]) {
  const people = await connectedPeople(tx, line.provider, [...new Set(events.flatMap(({ identities }) => identities))]);
  const claims = events.map(({ eventId: id, occurredAt, identities: names }) => ({
    id,
    occurredAt,
    names,
    from: null,
  }));
  const identities = ownerNames([...claims, ...transfersFor(line, people.changes)], aliasesIn(people.changes));
  const known = [...events, ...people.changes].map(({ accountId }) => accountId);
  return { identities, accountId: await firstAccount(tx, possibleAccountIds(identities), known) };
}

/** The first of these ids that is an account's. `known` are accounts that need not be looked up. */
async function firstAccount(tx: Tx, ids: string[], known: (string | null)[]): Promise<string | null> {
  const [first] = ids;
  if (first === undefined || known.includes(first)) return first ?? null;
  const accounts = await tx.account.findMany({ where: { id: { in: ids } }, select: { id: true } });
  return ids.find((id) => accounts.some((account) => account.id === id)) ?? null;
}

/** Takes over what stands on a line that turned out to be this one, under another transaction. */
export async function absorbLine(tx: Tx, line: SubscriptionLine, otherId: string): Promise<void> {
  const data = { lineId: line.id, originalTransactionId: line.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { lineId: otherId }, data });
  await tx.subscriptionLine.deleteMany({ where: { id: otherId } });
}

/** Settles a line that an event has left, since it is read differently now. One without events goes. */
export async function leaveLine(tx: Tx, lineId: string, at: Date): Promise<void> {
  const { count } = await tx.subscriptionLine.deleteMany({ where: { id: lineId, events: { none: {} } } });
  if (count > 0) return;
  for (const line of await lockLines(tx, [lineId])) await refoldLine(tx, line, at);
}
