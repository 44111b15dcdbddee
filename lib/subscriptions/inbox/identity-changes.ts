import { z } from "zod";
import type { Tx } from "../../context";
import { EventFacts } from "../events";
import type { Claim } from "../ownership";

/** An event of the inbox, as far as lines and their owners follow from it. */
export const StoredEvent = z.object({
  eventId: z.string(),
  type: z.string(),
  environment: z.string().nullable(),
  store: z.string().nullable(),
  facts: EventFacts,
  identities: z.array(z.string()),
  transferredFrom: z.array(z.string()),
  accountId: z.string().nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

/** Everything that is said about a group of people who are one customer, or hand lines to each other. */
type People = { names: string[]; changes: StoredEvent[] };

/**
 * Whoever `names` are connected with: by aliases and transfers, over as many steps as it takes. Events that are
 * stored and not applied yet count: of a purchase and a transfer at the same moment one sees the other.
 */
export async function connectedPeople(tx: Tx, provider: string, names: string[]): Promise<People> {
  const found = new Set(names);
  const changes = new Map<string, StoredEvent>();
  let open = names;
  while (open.length > 0) {
    const events = await changesNaming(tx, provider, open);
    for (const event of events) changes.set(event.eventId, event);
    open = [...new Set(events.flatMap(({ identities }) => identities))].filter((name) => !found.has(name));
    for (const name of open) found.add(name);
  }
  return { names: [...found], changes: [...changes.values()] };
}

async function changesNaming(tx: Tx, provider: string, names: string[]): Promise<StoredEvent[]> {
  const rows = await tx.$queryRaw<{ event: unknown }[]>`
    SELECT jsonb_build_object('eventId', "eventId", 'type', type, 'environment', environment, 'store', store, 'facts',
      normalized, 'identities', identities, 'transferredFrom', "transferredFrom", 'accountId', "accountId") AS event
    FROM "BillingEvent"
    WHERE provider = ${provider} AND state IN ('received', 'processed')
      AND type IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED') AND identities && ${names}::text[]`;
  return rows.map(({ event }) => StoredEvent.parse(event));
}

/** The transfers that may move a line: what an event does not name, the store or the environment, does not narrow it. */
export function transfersFor(line: { store: string; environment: string }, changes: StoredEvent[]): Claim[] {
  return changes
    .filter(({ facts }) => facts.identityChange === "transfer")
    .filter(({ store }) => store === null || store === line.store)
    .filter(({ environment }) => environment === null || environment === line.environment)
    .map(({ eventId, facts, identities, transferredFrom }) => ({
      id: eventId,
      occurredAt: facts.occurredAt,
      names: identities.filter((name) => !transferredFrom.includes(name)),
      from: transferredFrom,
    }))
    .filter(({ names }) => names.length > 0);
}

/** The lists of names that are one customer's. */
export function aliasesIn(changes: StoredEvent[]): string[][] {
  return changes.filter(({ facts }) => facts.identityChange === "alias").map(({ identities }) => identities);
}
