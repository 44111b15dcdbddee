import type { LoadResult } from "./load";
import { busyCores, cpuSeconds, memoryMiB, resetPeak } from "./process-usage";
import { SCALE } from "./scale";
import type { Server } from "./server";

/** Applies load to a server for about so many seconds. */
export type ApplyLoad = (seconds: number) => Promise<LoadResult>;

/** A server to measure. `prepare` sets the started server up and returns the function that applies load. */
export type Candidate = { name: string; start: () => Promise<Server>; prepare: (server: Server) => Promise<ApplyLoad> };

/**
 * `cores`: how many cores the server kept busy. `otherCores`: how many cores other work kept busy just before the round,
 * without load.
 */
export type Round = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMsPerRequest: number;
  cores: number;
  otherCores: number;
};

/** `idleMiB`: resident memory before the first load; `peakMiB`: its maximum under load. */
export type Result = { candidate: string; rounds: Round[]; idleMiB: number; peakMiB: number };

type Runner = { result: Result; server: Server; drive: ApplyLoad };

/**
 * Starts the candidates, warms each up, and applies load to one after the other in several rounds. Each round begins with
 * another candidate, so that neither other work on the machine nor the order favors one. Stops them at the end.
 */
export async function compare(candidates: Candidate[]): Promise<Result[]> {
  const servers: Server[] = [];
  try {
    const runners: Runner[] = [];
    for (const { name, start, prepare } of candidates) {
      const server = await start();
      servers.push(server);
      const drive = await prepare(server);
      const idleMiB = memoryMiB(server.pid, "VmRSS");
      resetPeak(server.pid);
      runners.push({ server, drive, result: { candidate: name, rounds: [], idleMiB, peakMiB: idleMiB } });
    }
    if (SCALE.warmUpSeconds > 0) for (const { drive } of runners) await drive(SCALE.warmUpSeconds);
    for (let i = 0; i < SCALE.rounds; i++) {
      for (const { server, drive, result } of rotate(runners, i)) result.rounds.push(await runRound(server, drive));
    }
    for (const { server, result } of runners) result.peakMiB = memoryMiB(server.pid, "VmHWM");
    return runners.map(({ result }) => result);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function runRound(server: Server, drive: ApplyLoad): Promise<Round> {
  const otherCores = await busyCores(SCALE.pauseMs);
  const before = cpuSeconds(server.pid);
  const startedAt = performance.now();
  const { count, seconds, p50Ms, p99Ms } = await drive(SCALE.roundSeconds);
  const cpu = cpuSeconds(server.pid) - before;
  const cores = (cpu * 1000) / (performance.now() - startedAt);
  return { perSecond: count / seconds, p50Ms, p99Ms, cpuMsPerRequest: (cpu * 1000) / count, cores, otherCores };
}

/** The items from the one at `by` on, then those before it. */
function rotate<T>(items: T[], by: number): T[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
