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
const OWN = ["connection", "date", "keep-alive", "transfer-encoding", "content-length"];
const PLAIN = { "accept-encoding": "identity" };

type Options = { title: string; path: string; conditional?: boolean };

/**
 * A GET that everybody sends all the time, against peers that give the very same answer from memory; Parse Server
 * answers its own health. `conditional` asks again with the ETag of a first answer.
 */
export async function compareGet(bench: Bench, { title, path: asked, conditional }: Options): Promise<Section> {
  const answerFile = path.join(bench.folder, "answer.json");
  let body = "";
  let condition: Record<string, string> = {};

  const prepareFirst = async (server: Server): Promise<ApplyLoad> => {
    const response = await fetch(server.url + asked, { headers: PLAIN });
    assert.equal(response.status, 200);
    body = await response.text();
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN.includes(name)));
    writeFileSync(answerFile, JSON.stringify({ path: asked, headers, body }));
    if (conditional) condition = { "if-none-match": headers.etag ?? "" };
    return prepare(server);
  };
  const prepare = async ({ url }: Server): Promise<ApplyLoad> => {
    assert.equal(await (await fetch(url + asked, { headers: PLAIN })).text(), body, "another answer");
    // Not by fetch: it adds Cache-Control: no-cache to a conditional request, and Express then answers 200.
    const { statusCode, body: rest } = await request(url + asked, { headers: condition });
    await rest.dump();
    assert.equal(statusCode, conditional ? 304 : 200, "another status");
    return (seconds) => wrk(url + asked, seconds, condition);
  };
  const prepareParse = async ({ url }: Server): Promise<ApplyLoad> => {
    return (seconds) => wrk(`${url}/parse/health`, seconds);
  };

  const env = () => ({ ANSWER: answerFile });
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
