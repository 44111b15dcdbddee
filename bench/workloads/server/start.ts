import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { cpuSeconds, memoryMiB } from "../../lib/process-usage";
import { isSmoke } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { atMost, median, type Section } from "../../lib/table";

const STARTS = isSmoke ? 1 : 5;
/** Until then the garbage of the start is collected, and the first background tasks have run. */
const IDLE_MS = isSmoke ? 0 : 10_000;
const MAX_START_MS = 1_000;
const MAX_IDLE_MIB = 250;

/**
 * An embedded database that exists, with the sample catalog: the time to the first 200, idle memory, and the first page
 * after that. The same for a catalog of 5,000 releases.
 */
export async function start(bench: Bench): Promise<Section> {
  const of = await measureStarts(bench, { RELEASE_CATALOG: "" });
  const ofLargeCatalog = await measureStarts(bench, {});
  const [startMs, idleMiB] = [of("startMs"), of("idleMiB")];
  const rows = [
    { candidate: "Homeport, first 200", p50Ms: startMs, goal: atMost(startMs, MAX_START_MS, " ms") },
    { candidate: "Homeport, CPU until then", p50Ms: of("startCpuMs") },
    { candidate: "Homeport, idle", memoryMiB: idleMiB, goal: atMost(idleMiB, MAX_IDLE_MIB, " MiB") },
    { candidate: "Homeport, first page", p50Ms: of("firstPageMs"), memoryMiB: of("withPagesMiB") },
    { candidate: "Homeport, 5,000 releases", p50Ms: ofLargeCatalog("startMs"), memoryMiB: ofLargeCatalog("idleMiB") },
  ];
  return { title: "start, embedded database", rows };
}

async function measureStarts(bench: Bench, env: Record<string, string>) {
  const embedded = { DATABASE_URL: "", DATA_DIR: path.join(bench.folder, `embedded-${Object.keys(env)}`), ...env };
  const { start } = homeport(bench, async () => Promise.reject(), embedded);
  await (await start()).stop(); // creates the database
  const runs: Measured[] = [];
  for (let i = 0; i < STARTS; i++) runs.push(await measure(await start()));
  return (name: keyof Measured) => median(runs.map((run) => run[name]));
}

type Measured = Awaited<ReturnType<typeof measure>>;

async function measure({ url, pid, bootMs, stop }: Server) {
  const startCpuMs = cpuSeconds(pid) * 1000;
  await delay(IDLE_MS);
  const idleMiB = memoryMiB(pid, "VmRSS");
  const startedMs = performance.now();
  await (await fetch(`${url}/sign-in`)).text();
  const firstPageMs = performance.now() - startedMs;
  const withPagesMiB = memoryMiB(pid, "VmRSS");
  await stop();
  return { startMs: bootMs, startCpuMs, idleMiB, firstPageMs, withPagesMiB };
}
