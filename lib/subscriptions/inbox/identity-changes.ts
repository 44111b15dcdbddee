import type { Tx } from "../../context";
import { EventFacts } from "../events";
import type { Claim } from "../ownership";

/** An event that says who is who, as it is stored. */
export type IdentityRow = {
  eventId: string;
  environment: string | null;
  store: string | null;
  occurredAt: Date;
  identities: string[];
  transferredFrom: string[];
  normalized: unknown;
  accountId: string | null;
};

/** Everything that is said about a group of people who are one customer, or hand lines to each other. */
export type People = { names: string[]; changes: IdentityRow[] };

/**
 * Whoever `names` are connected with: by aliases and transfers, over as many steps as it takes. Events that are
 * stored and not applied yet count: of a purchase and a transfer at the same moment one sees the other.
 */
export async function connectedPeople(tx: Tx, provider: string, names: string[]): Promise<People> {
  const found = new Set(names);
  const changes = new Map<string, IdentityRow>();
  let open = names;
  while (open.length > 0) {
    const rows = await tx.$queryRaw<IdentityRow[]>`
      SELECT "eventId", environment, store, "occurredAt", identities, "transferredFrom", normalized, "accountId"
      FROM "BillingEvent"
      WHERE provider = ${provider} AND state IN ('received', 'processed')
        AND type IN ('TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED') AND identities && ${open}::text[]`;
    for (const row of rows) changes.set(row.eventId, row);
    open = [...new Set(rows.flatMap((row) => [...row.identities, ...row.transferredFrom]))].filter(
      (name) => !found.has(name),
    );
    for (const name of open) found.add(name);
  }
  return { names: [...found], changes: [...changes.values()] };
}

/** The transfers that may move a line: what an event does not name, the store or the environment, does not narrow it. */
export function transfersFor(line: { store: string; environment: string }, changes: IdentityRow[]): Claim[] {
  return changes
    .filter(
      ({ store, environment }) =>
        (store ?? line.store) === line.store && (environment ?? line.environment) === line.environment,
    )
    .filter((change) => kindOf(change) === "transfer")
    .map(({ eventId, occurredAt, identities, transferredFrom }) => ({
      id: eventId,
      occurredAt,
      names: identities.filter((name) => !transferredFrom.includes(name)),
      from: transferredFrom,
    }));
}

/** The lists of names that are one customer's. */
export function aliasesIn(changes: IdentityRow[]): string[][] {
  return changes.filter((change) => kindOf(change) === "alias").map(({ identities }) => identities);
}

const kindOf = ({ normalized }: IdentityRow) => EventFacts.parse(normalized).identityChange;
