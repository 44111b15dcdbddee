import { z } from "zod";
import type { Tx } from "../../context";
import { EventFacts } from "../events";
import type { Claim } from "../ownership";

/** An event of the inbox, as far as purchases and their owners follow from it. */
export const StoredEvent = z.object({
  eventId: z.string(),
  type: z.string(),
  environment: z.string().nullable(),
  store: z.string().nullable(),
  facts: EventFacts,
  appUserIds: z.array(z.string()),
  transferredFrom: z.array(z.string()),
  accountId: z.string().nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

/**
 * Everything that is said about a group of people who are one customer, or hand purchases to each other. `isCrowd`: they are
 * more than any customer's names, since an app gives everybody the same name. Then aliases connect none of them.
 */
type People = { names: string[]; aliases: string[][]; transfers: StoredEvent[]; isCrowd: boolean };

/** More names, or lists of names, than any customer has. */
const MAX_NAMES = 1_000;

/**
 * Whoever `names` are connected with: by transfers, and by every event of whatever type and purchase that names two
 * of them, over as many steps as it takes. Events that are stored and not applied yet count: of a purchase and a
 * transfer at the same moment one sees the other.
 */
export async function connectedPeople(tx: Tx, provider: string, names: string[]): Promise<People> {
  const found = new Set(names);
  const aliases = new Map<string, Aliases>();
  const transfers = new Map<string, StoredEvent>();
  let open = names;
  while (open.length > 0) {
    const moves = await transfersNaming(tx, provider, open);
    const groups = await aliasesNaming(tx, provider, open);
    for (const event of moves) transfers.set(event.eventId, event);
    for (const group of groups) aliases.set(group.eventId, group);
    const named = [...moves, ...groups].flatMap(({ appUserIds }) => appUserIds);
    open = [...new Set(named)].filter((name) => !found.has(name));
    for (const name of open) found.add(name);
    if (Math.max(found.size, groups.length) > MAX_NAMES) {
      return { names, aliases: [], transfers: await transfersNaming(tx, provider, names), isCrowd: true };
    }
  }
  return {
    isCrowd: false,
    names: [...found],
    aliases: [...aliases.values()].toSorted(compareAliases).map(({ appUserIds }) => appUserIds),
    transfers: [...transfers.values()],
  };
}

/** Names that an event gives one customer, and when it first did. */
type Aliases = { appUserIds: string[]; eventId: string; occurredAt: Date };

/** What was said first binds most. */
function compareAliases(a: Aliases, b: Aliases): number {
  return a.occurredAt.getTime() - b.occurredAt.getTime() || (a.eventId < b.eventId ? -1 : 1);
}

/** Lists of names that are one customer's: of every event but transfers, those that change no purchase included. */
function aliasesNaming(tx: Tx, provider: string, names: string[]): Promise<Aliases[]> {
  return tx.$queryRaw`
    SELECT DISTINCT ON ("appUserIds") "appUserIds", "eventId", "occurredAt" FROM "BillingEvent"
    WHERE provider = ${provider} AND "appUserIds" && ${names}::text[] AND cardinality("appUserIds") > 1
      AND cardinality("transferredFrom") = 0
    ORDER BY "appUserIds", "occurredAt", "eventId" LIMIT ${MAX_NAMES + 1}::integer`;
}

async function transfersNaming(tx: Tx, provider: string, names: string[]): Promise<StoredEvent[]> {
  const rows = await tx.$queryRaw<{ event: unknown }[]>`
    SELECT jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment, 'store', store, 'facts',
      facts, 'appUserIds', "appUserIds", 'transferredFrom', "transferredFrom", 'accountId', "accountId") AS event
    FROM "BillingEvent"
    WHERE provider = ${provider} AND state IN ('received', 'processed')
      AND type IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED') AND cardinality("transferredFrom") > 0
      AND "appUserIds" && ${names}::text[]`;
  return rows.map(({ event }) => StoredEvent.parse(event));
}

/** The transfers that may move a purchase: what an event does not name, the store or the environment, does not narrow it. */
export function transfersFor(purchase: { store: string; environment: string }, transfers: StoredEvent[]): Claim[] {
  return transfers
    .filter(({ facts }) => facts.identityChange === "transfer")
    .filter(({ store }) => store === null || store === purchase.store)
    .filter(({ environment }) => environment === null || environment === purchase.environment)
    .map(({ eventId, facts, appUserIds, transferredFrom }) => ({
      id: eventId,
      occurredAt: facts.occurredAt,
      names: appUserIds.filter((name) => !transferredFrom.includes(name)),
      from: transferredFrom,
    }))
    .filter(({ names }) => names.length > 0);
}
