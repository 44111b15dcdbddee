import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Bench } from "./bench";
import { homeport, NAMES, nextStart, parsePeer, peer } from "./candidates";
import { type ApplyLoad, compare, type Result } from "./compare";
import { cpuSeconds } from "./process-usage";
import { isSmoke } from "./scale";
import type { Server } from "./server";
import { atLeast, byThroughput, type Row, ratioSpread, type Section, spreadOf } from "./table";
import { wrk } from "./wrk";

const TARGETS = { [NAMES.bare]: 0.5, [NAMES.express]: 2, [NAMES.parse]: 3, [NAMES.next]: 10 };
/** The minimum of plain node:http's CPU time a request divided by Homeport's. */
const MIN_CPU_RATIO = 0.55;
/** Tried in turn until plain node:http uses a whole core. */
const CONNECTIONS = [32, 64, 128, 256];
const WHOLE_CORE = 0.97;
/** Headers that a server sets by itself. */
const SERVER_HEADERS = ["connection", "date", "keep-alive", "transfer-encoding", "content-length"];
const UNCOMPRESSED = { "accept-encoding": "identity" };

/**
 * Compares a frequent GET with peers that send the same response from memory, and with Parse Server's health endpoint.
 * All get as many connections as plain node:http needs to use a whole core.
 */
export async function compareGet(bench: Bench, { title, path: urlPath }: { title: string; path: string }) {
  const responseFile = path.join(bench.folder, "response.json");
  let body = "";
  let connections = CONNECTIONS[0];

  const prepareFirst = async (server: Server): Promise<ApplyLoad> => {
    const response = await fetch(server.url + urlPath, { headers: UNCOMPRESSED });
    assert.equal(response.status, 200);
    body = await response.text();
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !SERVER_HEADERS.includes(name)));
    writeFileSync(responseFile, JSON.stringify({ path: urlPath, headers, body }));
    return prepare(server);
  };
  const prepare = async ({ url }: Server): Promise<ApplyLoad> => {
    const response = await fetch(url + urlPath, { headers: UNCOMPRESSED });
    assert.equal(await response.text(), body, "the body differs from Homeport's");
    return (seconds) => wrk(url + urlPath, seconds, { connections });
  };
  const prepareBare = async (server: Server): Promise<ApplyLoad> => {
    const drive = await prepare(server);
    if (!isSmoke) connections = await saturate(server, server.url + urlPath);
    return drive;
  };
  const prepareParse = async ({ url }: Server): Promise<ApplyLoad> => {
    return (seconds) => wrk(`${url}/parse/health`, seconds, { connections });
  };

  const env = () => ({ RESPONSE: responseFile });
  const results = await compare([
    homeport(bench, prepareFirst),
    peer(bench, NAMES.bare, "node-http.mjs", prepareBare, env),
    peer(bench, NAMES.express, "express.mjs", prepare, env),
    peer(bench, NAMES.fastify, "fastify.mjs", prepare, env),
    ...parsePeer(bench, prepareParse, NAMES.parse),
    ...nextStart(bench, prepare),
  ]);
  const notes = [`${connections} connections; ${coresUsed(results)}`];
  return { title, rows: withCpuRatio(results), notes, results } satisfies Section;
}

/** The first number of connections at which the server uses a whole core; if it never does, the largest. */
async function saturate({ pid }: Server, url: string): Promise<number | undefined> {
  for (const connections of CONNECTIONS) {
    const before = cpuSeconds(pid);
    const { seconds } = await wrk(url, 1, { connections });
    if ((cpuSeconds(pid) - before) / seconds >= WHOLE_CORE) return connections;
  }
  return CONNECTIONS.at(-1);
}

/** The rows by throughput, and after plain node:http's the same comparison by CPU time. */
function withCpuRatio(results: Result[]): Row[] {
  const [product, bare] = results;
  return byThroughput(results, TARGETS).flatMap((row) => {
    if (!product || !bare || row.candidate !== NAMES.bare) return [row];
    const ratio = ratioSpread(bare, product, "cpuMsPerRequest");
    return [row, { candidate: `${NAMES.bare}, CPU per request`, ratio, goal: atLeast(ratio, MIN_CPU_RATIO) }];
  });
}

function coresUsed(results: Result[]): string {
  const each = results.map((result) => `${result.candidate} ${spreadOf(result, "cores").median.toFixed(2)}`);
  return `cores used: ${each.join(", ")}`;
}
