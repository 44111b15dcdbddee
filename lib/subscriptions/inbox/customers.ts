import type { Tx } from "../../context";
import { sql } from "../../platform/db/sql";
import { StoredEvent } from "../events";
import type { OwnerEvent } from "../ownership";
import type { ParsedEvent } from "./decide";

/**
 * Customers connected by aliases and transfers. `hasSharedId`: an app has given many customers the same id. Aliases then
 * connect nobody.
 */
export type ConnectedCustomers = {
  appUserIds: string[];
  aliases: string[][];
  transfers: StoredEvent[];
  hasSharedId: boolean;
};

/** More App User IDs, or lists of them, than one customer has. */
const MAX_CONNECTED_APP_USER_IDS = 1_000;

/**
 * Finds the customers that are connected with some App User IDs, transitively: by transfers, and by every event that
 * names two of them, whatever its type. Includes events that are stored and not applied yet, so that a purchase and a
 * transfer that arrive at the same time see each other, and `newEvents`, which are not stored yet.
 */
export async function findConnectedCustomers(
  tx: Tx,
  provider: string,
  appUserIds: string[],
  newEvents: readonly ParsedEvent[] = [],
): Promise<ConnectedCustomers> {
  const found = new Set(appUserIds);
  const aliases = new Map<string, AliasGroup>();
  const transfers = new Map<string, StoredEvent>();
  let open = appUserIds;
  while (open.length > 0) {
    const newTransfers = await findTransfers(tx, provider, open);
    const newAliases = [...(await findAliases(tx, provider, open)), ...aliasesAmong(newEvents, provider, open)];
    for (const event of newTransfers) transfers.set(event.eventId, event);
    for (const group of newAliases) aliases.set(group.eventId, group);
    const named = [...newTransfers, ...newAliases].flatMap((event) => event.appUserIds);
    open = [...new Set(named)].filter((id) => !found.has(id));
    for (const id of open) found.add(id);
    if (Math.max(found.size, newAliases.length) > MAX_CONNECTED_APP_USER_IDS) {
      return { appUserIds, aliases: [], transfers: await findTransfers(tx, provider, appUserIds), hasSharedId: true };
    }
  }
  return {
    hasSharedId: false,
    appUserIds: [...found],
    aliases: [...aliases.values()].toSorted(oldestFirst).map((group) => group.appUserIds),
    transfers: [...transfers.values()],
  };
}

/** App User IDs of one customer, and the first event that connects them. */
type AliasGroup = { appUserIds: string[]; eventId: string; occurredAt: Date };

const oldestFirst = (a: AliasGroup, b: AliasGroup) =>
  a.occurredAt.getTime() - b.occurredAt.getTime() || (a.eventId < b.eventId ? -1 : 1);

/**
 * Reads the lists of App User IDs of every event except transfers, including events of types that change no purchase.
 */
function findAliases(tx: Tx, provider: string, appUserIds: string[]): Promise<AliasGroup[]> {
  return tx.$queryRaw`
    SELECT DISTINCT ON ("appUserIds") "appUserIds", "eventId", "occurredAt" FROM "BillingEvent"
    WHERE provider IS NOT DISTINCT FROM ${provider} AND "appUserIds" && ${appUserIds}::text[] AND cardinality("appUserIds") > 1
      AND cardinality("transferredFrom") = 0
    ORDER BY "appUserIds", "occurredAt", "eventId" LIMIT ${MAX_CONNECTED_APP_USER_IDS + 1}::integer`;
}

function aliasesAmong(events: readonly ParsedEvent[], provider: string, appUserIds: string[]): AliasGroup[] {
  return events
    .filter((event) => event.provider === provider && event.appUserIds.length > 1 && event.transferredFrom.length === 0)
    .filter((event) => event.appUserIds.some((id) => appUserIds.includes(id)))
    .map(({ appUserIds: ids, eventId, facts }) => ({ appUserIds: ids, eventId, occurredAt: facts.occurredAt }));
}

/** The columns of `StoredEvent` as JSON, which is faster to decode. */
export const STORED_EVENT = sql`jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment,
  'store', store, 'facts', facts, 'appUserIds', "appUserIds", 'transferredFrom', "transferredFrom", 'accountId', "accountId")`;

async function findTransfers(tx: Tx, provider: string, appUserIds: string[]): Promise<StoredEvent[]> {
  const rows = await tx.$queryRaw<{ event: unknown }[]>`
    SELECT ${STORED_EVENT} AS event FROM "BillingEvent"
    WHERE provider IS NOT DISTINCT FROM ${provider} AND state IN ('received', 'processed')
      AND type IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED') AND cardinality("transferredFrom") > 0
      AND "appUserIds" && ${appUserIds}::text[]`;
  return rows.map(({ event }) => StoredEvent.parse(event));
}

/** Returns the transfers that apply to a purchase: those of its store and environment, where the event names them. */
export function transfersOf(purchase: { store: string; environment: string }, transfers: StoredEvent[]): OwnerEvent[] {
  return transfers
    .filter(({ facts }) => facts.identityChange === "transfer")
    .filter(({ store }) => store === null || store === purchase.store)
    .filter(({ environment }) => environment === null || environment === purchase.environment)
    .map(({ eventId, facts, appUserIds, transferredFrom }) => ({
      id: eventId,
      occurredAt: facts.occurredAt,
      appUserIds: receiverOf(appUserIds, transferredFrom),
      transferredFrom,
    }))
    .filter(({ appUserIds }) => appUserIds.length > 0);
}

/**
 * Returns the new owner's App User IDs of a transfer: each of its ids as often as it is there besides those of the previous
 * owner. The pseudonym of a deleted receiver stands on both sides if an id of the giver's was the receiver's, too.
 */
function receiverOf(appUserIds: string[], transferredFrom: string[]): string[] {
  const remaining = [...transferredFrom];
  return appUserIds.filter((id) => {
    const i = remaining.indexOf(id);
    if (i >= 0) remaining.splice(i, 1);
    return i < 0;
  });
}
