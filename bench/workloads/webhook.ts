import { registerAccounts } from "../fixtures/accounts";
import { purchase } from "../fixtures/billing";
import type { Bench } from "../lib/bench";
import { homeport } from "../lib/contenders";
import { flatOut, type Load, type Shot, steady } from "../lib/load";
import { type Drive, type Result, race } from "../lib/race";
import type { Server } from "../lib/server";
import { atLeast, median, type Section, toRow, type Verdict } from "../lib/table";

const LEAST_PER_SECOND = 300;
const STEADY_PER_SECOND = 100;
const MOST_P50_MS = 20;
const MOST_P99_MS = 200;
const CONNECTIONS = 16;
const ACCOUNTS = 32;

/** Distinct signed purchases, as fast as they are acknowledged and at a steady rate; then the database is asked. */
export async function webhook(bench: Bench): Promise<Section> {
  const sent: string[] = [];
  const driven = async (drive: (url: string, seconds: number, next: () => Shot) => Promise<Load>): Promise<Result[]> =>
    race([homeport(bench, (server) => prepare(server, sent, drive))]);
  const fast = await driven((url, seconds, next) => flatOut(url, { connections: CONNECTIONS, seconds }, next));
  const even = await driven((url, seconds, next) => steady(url, { perSecond: STEADY_PER_SECOND, seconds }, next));

  const kept = await countProcessed(bench, sent);
  const lost = sent.length - kept;
  const perSecond = median(fast.flatMap(({ rounds }) => rounds.map((round) => round.perSecond)));
  const enough = atLeast(perSecond, LEAST_PER_SECOND, "/s, none lost");
  const verdict = { ...enough, met: enough.met && lost === 0 };
  const rows = [
    ...fast.map((result) => toRow({ ...result, contender: "Homeport, 16 at a time" }, undefined, null, verdict)),
    ...even.map((result) =>
      toRow({ ...result, contender: `Homeport, ${STEADY_PER_SECOND} a second` }, undefined, null, soonEnough(result)),
    ),
  ];
  const note = `${sent.length} events acknowledged, ${kept} of them in the database and applied, ${lost} lost`;
  return { title: "webhook, distinct events", rows, notes: [note], results: [...fast, ...even] };
}

/** Acknowledged means durable: the provider waits for it. */
function soonEnough({ rounds }: Result): Verdict {
  const [p50Ms, p99Ms] = [median(rounds.map((round) => round.p50Ms)), median(rounds.map((round) => round.p99Ms))];
  return {
    wanted: `p50 ≤ ${MOST_P50_MS} ms, p99 ≤ ${MOST_P99_MS} ms`,
    met: p50Ms <= MOST_P50_MS && p99Ms <= MOST_P99_MS,
  };
}

/** A service with accounts that purchase. A load that fails at the first refusal has had every event acknowledged when it ends. */
export async function prepare(
  { url }: Server,
  sent: string[],
  drive: (url: string, seconds: number, next: () => Shot) => Promise<Load>,
): Promise<Drive> {
  const accounts = await registerAccounts(url, ACCOUNTS);
  const next = () => {
    const { id, shot } = purchase(accounts[sent.length % ACCOUNTS]?.id ?? "");
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
