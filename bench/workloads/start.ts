import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../lib/bench";
import { homeport } from "../lib/contenders";
import { memoryMiB } from "../lib/process-tree";
import { atMost, median, type Row, type Section } from "../lib/table";

const STARTS = 3;
const IDLE_MS = 10_000;
const MOST_MS = 2_000;
const MOST_MIB = 300;

/** From the command to the first 200 of health, on an embedded database that is there already; then idle. */
export async function start(bench: Bench): Promise<Section> {
  const embedded = { DATABASE_URL: "", DATA_DIR: path.join(bench.folder, "embedded") };
  const { start } = homeport(bench, async () => Promise.reject(), embedded);
  await (await start()).stop(); // makes the database
  const bootMs: number[] = [];
  const idleMiB: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const server = await start();
    bootMs.push(server.bootMs);
    await delay(IDLE_MS);
    idleMiB.push(memoryMiB(server.pid, "VmRSS"));
    await server.stop();
  }
  const none = { throughput: null, p99Ms: null, cpuMsPerRequest: null, ratio: null };
  const [boot, idle] = [median(bootMs), median(idleMiB)];
  const rows: Row[] = [
    { ...none, contender: "Homeport, first 200", p50Ms: boot, memoryMiB: null, verdict: atMost(boot, MOST_MS, " ms") },
    { ...none, contender: "Homeport, idle", p50Ms: null, memoryMiB: idle, verdict: atMost(idle, MOST_MIB, " MiB") },
  ];
  return { title: "start, embedded database", rows };
}
