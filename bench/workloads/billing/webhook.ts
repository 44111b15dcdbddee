import { addAccounts } from "../../fixtures/accounts";
import { newPurchase } from "../../fixtures/billing";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { compare, type Result } from "../../lib/compare";
import { type LoadResult, type RequestSpec, runAtRate, runClosedLoop } from "../../lib/load";
import { SCALE } from "../../lib/scale";
import { atLeast, type Goal, type Section, spreadOf, toRow } from "../../lib/table";

const CONNECTIONS = 64;
const MIN_PER_SECOND = 1_500;
const STEADY_PER_SECOND = 100;
const MAX_P50_MS = 10;
const MAX_P99_MS = 40;

/** Sends the requests that `next` returns to a server for about so many seconds. */
export type Drive = (url: string, seconds: number, next: () => RequestSpec) => Promise<LoadResult>;

/** Distinct signed purchases, as fast as possible and at a constant rate; then checks that the database has all of them. */
export async function webhook(bench: Bench): Promise<Section> {
  const accounts = await addAccounts(bench, SCALE.accounts);
  const sent: string[] = [];
  const next = deliveries(accounts, sent);
  const measure = (name: string, drive: Drive): Promise<Result[]> => {
    const candidate = homeport(
      bench,
      async ({ url }) =>
        (seconds) =>
          drive(url, seconds, next),
    );
    return compare([{ ...candidate, name }]);
  };
  const fast = await measure(`Homeport, ${CONNECTIONS} at a time`, (url, seconds, next) =>
    runClosedLoop(url, { connections: CONNECTIONS, seconds }, next),
  );
  const steady = await measure(`Homeport, ${STEADY_PER_SECOND} a second`, (url, seconds, next) =>
    runAtRate(url, { perSecond: STEADY_PER_SECOND, seconds }, next),
  );
  const applied = await countProcessed(bench, sent);
  const rows = [
    ...fast.map((result) => toRow(result, undefined, null, fastEnough(result, sent.length - applied))),
    ...steady.map((result) => toRow(result, undefined, null, soonEnough(result))),
  ];
  const note = `${sent.length} events acknowledged, ${applied} of them in the database and applied`;
  return { title: "webhook, distinct events", rows, notes: [note], results: [...fast, ...steady] };
}

function fastEnough(result: Result, lost: number): Goal {
  const goal = atLeast(spreadOf(result, "perSecond"), MIN_PER_SECOND, "/s, none lost");
  return lost === 0 ? goal : { ...goal, isMet: false, isMetAlways: false };
}

/** The provider waits for the response, which is sent after the event is durable. */
function soonEnough(result: Result): Goal {
  const [p50, p99] = [spreadOf(result, "p50Ms"), spreadOf(result, "p99Ms")];
  return {
    target: `p50 ≤ ${MAX_P50_MS} ms, p99 ≤ ${MAX_P99_MS} ms`,
    isMet: p50.median <= MAX_P50_MS && p99.median <= MAX_P99_MS,
    isMetAlways: p50.max <= MAX_P50_MS && p99.max <= MAX_P99_MS,
  };
}

/** Returns a function that returns a new purchase of the next account. `sent` collects the event ids. */
export function deliveries(accounts: { id: string }[], sent: string[]): () => RequestSpec {
  return () => {
    const { id, shot } = newPurchase(accounts[sent.length % accounts.length]?.id ?? "");
    sent.push(id);
    return shot;
  };
}

async function countProcessed({ database }: Bench, ids: string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM "BillingEvent" WHERE state = 'processed' AND "eventId" = ANY($1)`,
    [ids],
  );
  return rows[0]?.count ?? 0;
}
