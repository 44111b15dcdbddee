import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { request } from "undici";
import type { Bench } from "./bench";
import { homeport, NAMES, nextStart, parseServer, peer } from "./candidates";
import { type ApplyLoad, compare } from "./compare";
import type { Server } from "./server";
import { byThroughput, type Section } from "./table";
import { wrk } from "./wrk";

const TARGETS = { [NAMES.bare]: 0.5, [NAMES.express]: 2, [NAMES.parse]: 3, [NAMES.next]: 10 };
/** Headers that a server sets by itself. */
const SERVER_HEADERS = ["connection", "date", "keep-alive", "transfer-encoding", "content-length"];
const UNCOMPRESSED = { "accept-encoding": "identity" };

type Options = { title: string; path: string; conditional?: boolean };

/**
 * Compares a frequent GET with peers that send the same response from memory, and with Parse Server's health endpoint.
 * With `conditional` each request has the ETag of the first response in If-None-Match.
 */
export async function compareGet(bench: Bench, { title, path: urlPath, conditional }: Options): Promise<Section> {
  const responseFile = path.join(bench.folder, "response.json");
  let body = "";
  let condition: Record<string, string> = {};

  const prepareFirst = async (server: Server): Promise<ApplyLoad> => {
    const response = await fetch(server.url + urlPath, { headers: UNCOMPRESSED });
    assert.equal(response.status, 200);
    body = await response.text();
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !SERVER_HEADERS.includes(name)));
    writeFileSync(responseFile, JSON.stringify({ path: urlPath, headers, body }));
    if (conditional) condition = { "if-none-match": headers.etag ?? "" };
    return prepare(server);
  };
  const prepare = async ({ url }: Server): Promise<ApplyLoad> => {
    assert.equal(
      await (await fetch(url + urlPath, { headers: UNCOMPRESSED })).text(),
      body,
      "the body differs from Homeport's",
    );
    // fetch adds Cache-Control: no-cache to a conditional request, to which Express responds 200.
    const { statusCode, body: rest } = await request(url + urlPath, { headers: condition });
    await rest.dump();
    assert.equal(statusCode, conditional ? 304 : 200, "unexpected status");
    return (seconds) => wrk(url + urlPath, seconds, condition);
  };
  const prepareParse = async ({ url }: Server): Promise<ApplyLoad> => {
    return (seconds) => wrk(`${url}/parse/health`, seconds);
  };

  const env = () => ({ RESPONSE: responseFile });
  const results = await compare([
    homeport(bench, prepareFirst),
    peer(bench, NAMES.bare, "bare.mjs", prepare, env),
    peer(bench, NAMES.express, "express.mjs", prepare, env),
    peer(bench, NAMES.fastify, "fastify.mjs", prepare, env),
    parseServer(bench, prepareParse, "native", NAMES.parse),
    nextStart(bench, prepare),
  ]);
  return { title, rows: byThroughput(results, TARGETS), results };
}
