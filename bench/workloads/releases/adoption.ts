import { DayCounts } from "../../../lib/releases/adoption/day-counts";
import { estimateCount } from "../../../lib/releases/adoption/hyperloglog";
import { SELECTION } from "../../fixtures/catalog";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { compare } from "../../lib/compare";
import { isSmoke } from "../../lib/scale";
import { atLeast, atMost, type Row, ratioSpread, type Section, toRow } from "../../lib/table";
import { wrk } from "../../lib/wrk";

const path = `/api/version?${SELECTION}&current=1.0.0&clientId=6ba7b810-9dad-11d1-80b4-00c04fd430c8`;
/** Of the throughput, and of the CPU time, without counting. */
const MIN_RATIO = 0.95;
const CLIENTS = isSmoke ? 10_000 : 1_000_000;
const CHECKS = 10 * CLIENTS;
const MAX_ERROR_PERCENT = 2;

/** Update checks with and without the count of adoption, and the accuracy of that count. */
export async function adoption(bench: Bench): Promise<Section> {
  const candidate = (name: string, counting: string) => ({
    ...homeport(
      bench,
      async ({ url }) =>
        (seconds) =>
          wrk(url + path, seconds),
      { RELEASE_ADOPTION: counting },
    ),
    name,
  });
  const results = await compare([candidate("Homeport, counting", "on"), candidate("Homeport, not counting", "off")]);
  const [counting, not] = results;
  const rows = results.map((result) => toRow(result));
  if (counting && not) {
    const [throughput, cpu] = [ratioSpread(counting, not, "perSecond"), ratioSpread(not, counting, "cpuMsPerRequest")];
    rows[1] = toRow(not, undefined, throughput, atLeast(throughput, MIN_RATIO));
    rows.push({ candidate: "not counting, CPU per request", ratio: cpu, goal: atLeast(cpu, MIN_RATIO) });
  }
  return { title: "version, with the count of adoption", rows: [...rows, countClients()], results };
}

/** Counts checks of random clients, each with its own id, in this process. */
function countClients(): Row {
  const counts = new DayCounts("the bench's salt");
  const installed = { product: "core", platform: "windows", architecture: "x64", channel: "stable", version: "1.0.0" };
  const startedAt = process.cpuUsage();
  for (let i = 0; i < CHECKS; i++) {
    counts.countCheck({ installed, offered: null }, `client ${(i * 7) % CLIENTS}`);
  }
  const { user, system } = process.cpuUsage(startedAt);
  const [entry] = counts.take();
  const counted = entry?.counts.clients ? estimateCount(entry.counts.clients) : 0;
  const errorPercent = (Math.abs(counted - CLIENTS) / CLIENTS) * 100;
  return {
    candidate: `${CHECKS.toLocaleString("en-US")} checks of ${CLIENTS.toLocaleString("en-US")} clients`,
    throughput: `${counted.toLocaleString("en-US")} clients, ${((user + system) / CHECKS).toPrecision(2)} µs of CPU a check`,
    goal: atMost(errorPercent, MAX_ERROR_PERCENT, "% error"),
  };
}
