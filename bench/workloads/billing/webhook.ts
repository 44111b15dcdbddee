import { registerAccounts } from "../../fixtures/accounts";
import { newPurchase } from "../../fixtures/billing";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { type ApplyLoad, compare, type Result } from "../../lib/compare";
import { type LoadResult, type RequestSpec, runAtRate, runClosedLoop } from "../../lib/load";
import type { Server } from "../../lib/server";
import { atLeast, type Goal, median, type Section, toRow } from "../../lib/table";

const MIN_PER_SECOND = 300;
const STEADY_PER_SECOND = 100;
const MAX_P50_MS = 20;
const MAX_P99_MS = 200;
const CONNECTIONS = 16;
const ACCOUNTS = 32;

/** Distinct signed purchases in a closed loop and at a constant rate; then checks that the database has all of them. */
export async function webhook(bench: Bench): Promise<Section> {
  const sent: string[] = [];
  const driven = async (
    drive: (url: string, seconds: number, next: () => RequestSpec) => Promise<LoadResult>,
  ): Promise<Result[]> => compare([homeport(bench, (server) => prepare(server, sent, drive))]);
  const fast = await driven((url, seconds, next) => runClosedLoop(url, { connections: CONNECTIONS, seconds }, next));
  const even = await driven((url, seconds, next) => runAtRate(url, { perSecond: STEADY_PER_SECOND, seconds }, next));

  const kept = await countProcessed(bench, sent);
  const lost = sent.length - kept;
  const perSecond = median(fast.flatMap(({ rounds }) => rounds.map((round) => round.perSecond)));
  const enough = atLeast(perSecond, MIN_PER_SECOND, "/s, none lost");
  const goal = { ...enough, met: enough.isMet && lost === 0 };
  const rows = [
    ...fast.map((result) => toRow({ ...result, candidate: "Homeport, 16 at a time" }, undefined, null, goal)),
    ...even.map((result) =>
      toRow({ ...result, candidate: `Homeport, ${STEADY_PER_SECOND} a second` }, undefined, null, soonEnough(result)),
    ),
  ];
  const note = `${sent.length} events acknowledged, ${kept} of them in the database and applied, ${lost} lost`;
  return { title: "webhook, distinct events", rows, notes: [note], results: [...fast, ...even] };
}

/** The provider waits for the response, which is sent after the event is durable. */
function soonEnough({ rounds }: Result): Goal {
  const [p50Ms, p99Ms] = [median(rounds.map((round) => round.p50Ms)), median(rounds.map((round) => round.p99Ms))];
  return {
    target: `p50 ≤ ${MAX_P50_MS} ms, p99 ≤ ${MAX_P99_MS} ms`,
    isMet: p50Ms <= MAX_P50_MS && p99Ms <= MAX_P99_MS,
  };
}

/** Registers the accounts that purchase. `sent` collects event ids; a load that ends has had all of them acknowledged. */
export async function prepare(
  { url }: Server,
  sent: string[],
  drive: (url: string, seconds: number, next: () => RequestSpec) => Promise<LoadResult>,
): Promise<ApplyLoad> {
  const accounts = await registerAccounts(url, ACCOUNTS);
  const next = () => {
    const { id, shot } = newPurchase(accounts[sent.length % ACCOUNTS]?.id ?? "");
    sent.push(id);
    return shot;
  };
  return (seconds) => drive(url, seconds, next);
}

async function countProcessed({ database }: Bench, ids: string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM "BillingEvent" WHERE state = 'processed' AND "eventId" = ANY($1)`,
    [ids],
  );
  return rows[0]?.count ?? 0;
}
