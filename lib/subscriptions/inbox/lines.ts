import type { Tx } from "../../context";
import { type LineEvent, LineEventType } from "../events";
import { foldLine } from "../fold/fold-line";
import { possibleAccountIds } from "../identities";
import { type LineState, StoredLine } from "../line-state";
import { ownerNames } from "../ownership";
import { connectedPeople, StoredEvent, transfersFor } from "./identity-changes";

/** What makes events one line. */
export type LineKey = Pick<StoredLine, "provider" | "environment" | "store" | "originalTransactionId">;

/** A line as it was before it was folded anew, its state now, and whose it is now. */
export type Refolded = { before: StoredLine; after: LineState; accountId: string | null };

/**
 * Puts an event on its line, as processed, and locks that line until the transaction ends, making it where it is new.
 * The reason of an earlier failure is out of date then.
 */
export async function joinLine(tx: Tx, eventRowId: string, key: LineKey, at: Date): Promise<StoredLine> {
  const [row] = await tx.$queryRaw<{ line: unknown }[]>`
    WITH line AS (
      INSERT INTO "SubscriptionLine"
        (id, provider, environment, store, "originalTransactionId", identities, "entitlementIds", "createdAt", "updatedAt")
      VALUES (gen_random_uuid(), ${key.provider}, ${key.environment}, ${key.store}, ${key.originalTransactionId},
        '{}', '{}', ${at}::timestamptz, ${at}::timestamptz)
      ON CONFLICT (provider, environment, store, "originalTransactionId")
        DO UPDATE SET "updatedAt" = EXCLUDED."updatedAt"
      RETURNING *
    ), joined AS (
      UPDATE "BillingEvent" AS event SET state = 'processed', "processedAt" = ${at}::timestamptz, "lineId" = line.id,
        reason = CASE WHEN event.state IN ('failed', 'ignored') THEN NULL ELSE event.reason END
      FROM line WHERE event.id = ${eventRowId}::uuid
    )
    SELECT to_jsonb(line) AS line FROM line`;
  return StoredLine.parse(row?.line);
}

/** Locks lines that are there, in an order in which nobody waits in a circle. */
export async function lockLines(tx: Tx, ids: string[]): Promise<StoredLine[]> {
  const rows = await tx.$queryRaw<{ line: unknown }[]>`
    SELECT to_jsonb(line) AS line FROM "SubscriptionLine" AS line WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE`;
  return rows.map(({ line }) => StoredLine.parse(line));
}

/** Folds a line anew from its processed events, and settles whose it is. The caller holds its lock. */
export async function refoldLine(tx: Tx, before: StoredLine, at: Date): Promise<Refolded> {
  const { rows, isConnected } = await readEvents(tx, before);
  const events = rows.flatMap(({ eventId, type, facts, ...row }) => {
    const known = LineEventType.safeParse(type);
    return known.success ? { ...row, event: { id: eventId, type: known.data, ...facts } satisfies LineEvent } : [];
  });
  const after = foldLine(events.map(({ event }) => event));
  const names = [...new Set(events.flatMap(({ identities }) => identities))];
  const people = isConnected ? await connectedPeople(tx, before.provider, names) : { transfers: [], aliases: [] };
  const claims = events.map(({ event, identities }) => ({ ...event, names: identities, from: null }));
  const identities = ownerNames([...claims, ...transfersFor(before, people.transfers)], people.aliases);
  const known = [...rows, ...people.transfers].map((row) => row.accountId);
  const accountId = await firstAccount(tx, possibleAccountIds(identities), known);
  const data = { ...after, identities, accountId, updatedAt: at };
  await tx.subscriptionLine.updateMany({ where: { id: before.id }, data });
  return { before, after, accountId };
}

/**
 * A line's events, which are the processed ones, and whether another event says anything about the people that they
 * name: that they have one more name, or that they hand lines to each other.
 */
async function readEvents(
  tx: Tx,
  { id, provider }: StoredLine,
): Promise<{ rows: StoredEvent[]; isConnected: boolean }> {
  // The index on names is not used unless the names are joined.
  const rows = await tx.$queryRaw<{ event: unknown; isConnected: boolean }[]>`
    WITH people AS MATERIALIZED (
      SELECT array_agg(DISTINCT name) AS names FROM "BillingEvent" AS own, unnest(own.identities) AS name
      WHERE own."lineId" = ${id}::uuid
    ), others AS MATERIALIZED (
      SELECT 1 FROM people JOIN "BillingEvent" AS other ON other.identities && people.names
      WHERE other.provider = ${provider}
        AND (cardinality(other."transferredFrom") > 0 OR NOT other.identities <@ people.names)
    )
    SELECT jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment, 'store', store, 'facts',
      normalized, 'identities', identities, 'transferredFrom', "transferredFrom", 'accountId', "accountId") AS event,
      EXISTS (SELECT 1 FROM others) AS "isConnected"
    FROM "BillingEvent" WHERE "lineId" = ${id}::uuid`;
  return { rows: rows.map(({ event }) => StoredEvent.parse(event)), isConnected: rows[0]?.isConnected ?? false };
}

/** The first of these ids that is an account's. `known` are accounts that need not be looked up. */
async function firstAccount(tx: Tx, ids: string[], known: (string | null)[]): Promise<string | null> {
  const [first] = ids;
  if (first === undefined || known.includes(first)) return first ?? null;
  const accounts = await tx.account.findMany({ where: { id: { in: ids } }, select: { id: true } });
  return ids.find((id) => accounts.some((account) => account.id === id)) ?? null;
}

/**
 * Takes over what stands on a line that turned out to be this one, under another transaction. It is locked first: an
 * event that is joining it at this moment comes along.
 */
export async function absorbLine(tx: Tx, line: StoredLine, otherId: string): Promise<void> {
  await lockLines(tx, [otherId]);
  const data = { lineId: line.id, originalTransactionId: line.originalTransactionId };
  await tx.billingEvent.updateMany({ where: { lineId: otherId }, data });
  await tx.subscriptionLine.deleteMany({ where: { id: otherId } });
}

/** Settles a line that an event has left, since it is read differently now. One without events goes. */
export async function leaveLine(tx: Tx, lineId: string, at: Date): Promise<void> {
  for (const line of await lockLines(tx, [lineId])) {
    const { count } = await tx.subscriptionLine.deleteMany({ where: { id: lineId, events: { none: {} } } });
    if (count === 0) await refoldLine(tx, line, at);
  }
}
