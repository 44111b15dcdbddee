import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { FILE_MIB } from "../../fixtures/catalog";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, nginx, peer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import { type LoadResult, summarize } from "../../lib/load";
import type { Server } from "../../lib/server";
import { atMost, byThroughput, type Section } from "../../lib/table";

const CLIENTS = 8;
const MAX_GROWTH_MIB = 50;
const TARGETS = { [NAMES.bare]: 0.9 };

/** Eight clients that each download the whole installer. A round ends when all have finished. */
export async function download(bench: Bench): Promise<Section> {
  const prepare =
    (urlPath: string) =>
    async ({ url }: Server): Promise<ApplyLoad> =>
    () =>
      downloads(url + urlPath);
  const name = `/${path.basename(bench.file)}`;
  const results = await compare([
    homeport(bench, prepare("/api/download/windows?product=core&architecture=x64")),
    peer(bench, NAMES.bare, "node-http.mjs", prepare(name), () => ({ FILE: bench.file })),
    ...nginx(bench, prepare(name)),
  ]);
  const rows = byThroughput(results, TARGETS, { name: "MiB/s", per: FILE_MIB });
  const [product] = results;
  const [first] = rows;
  const growthMiB = product ? product.peakMiB - product.idleMiB : Number.NaN;
  const growth = `RSS grew by ${growthMiB.toFixed(0)} MiB from before the first download`;
  if (first) first.goal = { ...atMost(growthMiB, MAX_GROWTH_MIB), target: `RSS + ≤ ${MAX_GROWTH_MIB} MiB` };
  const missing = results.some(({ candidate }) => candidate === NAMES.nginx) ? [] : ["nginx is not installed"];
  return { title: `download of ${FILE_MIB} MiB, ${CLIENTS} clients`, rows, notes: [growth, ...missing], results };
}

/** Downloads with curl: a client in this process would be slower than the server. */
async function downloads(url: string): Promise<LoadResult> {
  const args = ["-sS", "--fail", "-o", "/dev/null", "-w", "%{size_download} %{time_total}", url];
  const startedAt = performance.now();
  const outputs = await Promise.all(Array.from({ length: CLIENTS }, () => promisify(execFile)("curl", args)));
  const seconds = (performance.now() - startedAt) / 1000;
  const took = outputs.map(({ stdout }) => {
    const [size, time] = stdout.split(" ");
    assert.equal(Number(size), FILE_MIB * 1024 * 1024, "a download is not whole");
    return Number(time) * 1000;
  });
  return summarize(took, seconds);
}
