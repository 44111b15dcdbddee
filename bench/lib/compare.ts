import type { LoadResult } from "./load";
import { busyCores, cpuSeconds, memoryMiB, resetPeak } from "./process-usage";
import type { Server } from "./server";

const ROUNDS = 3;
const ROUND_SECONDS = 5;
const WARM_UP_SECONDS = 3;
/** The pause before each round, in which other work on the machine is measured. */
const PAUSE_MS = 500;

/** Applies load to a server for about so many seconds. */
export type ApplyLoad = (seconds: number) => Promise<LoadResult>;

/** A server to measure. `prepare` sets the started server up and returns the function that applies load. */
export type Candidate = {
  name: string;
  start: () => Promise<Server>;
  prepare: (server: Server) => Promise<ApplyLoad>;
};

/** `otherCores`: how many cores other work kept busy just before the round, without load. */
export type Round = { perSecond: number; p50Ms: number; p99Ms: number; cpuMsPerRequest: number; otherCores: number };

/** `idleMiB`: resident memory before the first load; `peakMiB`: its maximum under load. */
export type Result = { candidate: string; rounds: Round[]; idleMiB: number; peakMiB: number };

/**
 * Starts the candidates, warms each up, and applies load to one after the other for three rounds, so that other work on
 * the machine affects all of them alike. Stops them at the end.
 */
export async function compare(candidates: Candidate[]): Promise<Result[]> {
  const servers: Server[] = [];
  try {
    const runners: { result: Result; server: Server; drive: ApplyLoad }[] = [];
    for (const { name, start, prepare } of candidates) {
      const server = await start();
      servers.push(server);
      const drive = await prepare(server);
      const restMiB = memoryMiB(server.pid, "VmRSS");
      resetPeak(server.pid);
      runners.push({ server, drive, result: { candidate: name, rounds: [], idleMiB: restMiB, peakMiB: restMiB } });
    }
    for (const { drive } of runners) await drive(WARM_UP_SECONDS);
    for (let i = 0; i < ROUNDS; i++) {
      for (const { server, drive, result } of runners) result.rounds.push(await round(server, drive));
    }
    for (const { server, result } of runners) result.peakMiB = memoryMiB(server.pid, "VmHWM");
    return runners.map(({ result }) => result);
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function round(server: Server, drive: ApplyLoad): Promise<Round> {
  const othersCores = await busyCores(PAUSE_MS);
  const before = cpuSeconds(server.pid);
  const { count, seconds, p50Ms, p99Ms } = await drive(ROUND_SECONDS);
  const cpuMsPerRequest = ((cpuSeconds(server.pid) - before) * 1000) / count;
  return { perSecond: count / seconds, p50Ms, p99Ms, cpuMsPerRequest, otherCores: othersCores };
}
