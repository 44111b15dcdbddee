import type { Load } from "./load";
import { busyCores, cpuSeconds, memoryMiB, resetPeak } from "./process-tree";
import type { Server } from "./server";

const ROUNDS = 3;
const ROUND_SECONDS = 5;
const WARM_UP_SECONDS = 3;
/** Before each round: lets what the last one left behind pass, and shows what else the machine does. */
const PAUSE_MS = 500;

/** Loads a server for about so many seconds. */
export type Drive = (seconds: number) => Promise<Load>;

/** One that is measured. `prepare` gets the started server ready, and returns what loads it. */
export type Contender = {
  name: string;
  start: () => Promise<Server>;
  prepare: (server: Server) => Promise<Drive>;
};

/** `othersCores` is how many cores were at work just before it, when nobody was driven. */
export type Round = { perSecond: number; p50Ms: number; p99Ms: number; cpuMsPerRequest: number; othersCores: number };

/** `restMiB` is what a contender held before the first load, `peakMiB` the most it held under load. */
export type Result = { contender: string; rounds: Round[]; restMiB: number; peakMiB: number };

/**
 * Starts the contenders one after the other, warms each up, and drives them in turn, three rounds each: what
 * else the machine does then weighs on all of them alike. Stops them at the end.
 */
export async function race(contenders: Contender[]): Promise<Result[]> {
  const servers: Server[] = [];
  try {
    const runners: { result: Result; server: Server; drive: Drive }[] = [];
    for (const { name, start, prepare } of contenders) {
      const server = await start();
      servers.push(server);
      const drive = await prepare(server);
      const restMiB = memoryMiB(server.pid, "VmRSS");
      resetPeak(server.pid);
      runners.push({ server, drive, result: { contender: name, rounds: [], restMiB, peakMiB: restMiB } });
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

async function round(server: Server, drive: Drive): Promise<Round> {
  const othersCores = await busyCores(PAUSE_MS);
  const before = cpuSeconds(server.pid);
  const { count, seconds, p50Ms, p99Ms } = await drive(ROUND_SECONDS);
  const cpuMsPerRequest = ((cpuSeconds(server.pid) - before) * 1000) / count;
  return { perSecond: count / seconds, p50Ms, p99Ms, cpuMsPerRequest, othersCores };
}
