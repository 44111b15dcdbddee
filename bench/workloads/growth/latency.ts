import { type LoadResult, summarize } from "../../lib/load";
import { isSmoke } from "../../lib/scale";
import { type Latency, spread } from "../../lib/table";

const ROUNDS = isSmoke ? 1 : 5;
/** A round ends after so many calls or seconds, whichever is first. */
export const ROUND = isSmoke ? { calls: 10, seconds: 1 } : { calls: 400, seconds: 3 };

/** The latency over several rounds, each of which `measure` returns. */
export async function latencyOf(measure: () => Promise<LoadResult>): Promise<Latency> {
  await measure(); // warms up
  const rounds: LoadResult[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await measure());
  return { p50Ms: spread(rounds.map(({ p50Ms }) => p50Ms)), p99Ms: spread(rounds.map(({ p99Ms }) => p99Ms)) };
}

/** Calls a function again and again for a round, one call at a time. `after` each call is not measured. */
export async function callInTurn(
  call: () => Promise<unknown>,
  after: () => Promise<unknown> = async () => {},
): Promise<LoadResult> {
  const tookMs: number[] = [];
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  while (tookMs.length < ROUND.calls && elapsed() < ROUND.seconds) {
    const calledAt = performance.now();
    await call();
    tookMs.push(performance.now() - calledAt);
    await after();
  }
  return summarize(tookMs, elapsed());
}
