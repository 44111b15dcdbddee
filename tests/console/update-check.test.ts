import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { checkForUpdates, readUpdateState, releaseNewsAt } from "@/lib/platform/update-check";
import { releaseNews } from "@/site/.vitepress/releases.mjs";
import { clock, ctx } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";

const DAY_MS = 24 * 60 * 60 * 1000;

const advisory = (id: string, severity: string, affected: string) => ({
  id,
  title: `The title of ${id}`,
  severity,
  affected,
  url: `https://example.com/${id}`,
});
const latest = { version: "1.10.0", url: "https://example.com/1.10.0" };
const NEWS = {
  latest,
  advisories: [
    advisory("A-1", "low", "<=1.9.1"),
    advisory("A-2", "critical", ">=1.9.0 <1.9.2 || 2.0.0"),
    advisory("A-3", "high", "<1.9.1"),
  ],
};

/** The service at version 1.9.1 with UPDATE_CHECK=on, the requests that it has sent, and what it has logged. */
async function newCheck(respond: (response: ServerResponse, request: IncomingMessage) => void) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    respond(response, request);
  });
  const url = `http://${await listenForTest(server)}/releases.json`;
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(line) });
  const at = (version: string, UPDATE_CHECK: "on" | "off" = "on") => {
    const { config, db } = ctx();
    const build = { ...config.build, version };
    return { db, dbNow: clock.dbNow, log, config: { ...config, build, UPDATE_CHECK, UPDATE_CHECK_URL: url } };
  };
  return { url, requests, logged, at, check: () => checkForUpdates(at("1.9.1")) };
}

const answer = (news: unknown) => (response: ServerResponse) => void response.end(JSON.stringify(news));

test("nothing is sent unless it is turned on", async () => {
  const { requests, at } = await newCheck(answer(NEWS));
  await checkForUpdates(at("1.9.1", "off"));
  expect(await readUpdateState(at("1.9.1", "off"))).toBeUndefined();
  expect(requests).toEqual([]);
});

test("of several processes one asks, once a day, and sends nothing but its version", async () => {
  const { requests, check } = await newCheck(answer(NEWS));
  await Promise.all([check(), check(), check()]);
  clock.advance(DAY_MS - 60_000);
  await check();
  expect(requests.map(({ method, url, headers }) => [method, url, headers["user-agent"]])).toEqual([
    ["GET", "/releases.json", "homeport/1.9.1"],
  ]);
  const names = Object.keys(requests[0]?.headers ?? {}).filter((name) => !/^(accept|sec-fetch-)/.test(name));
  expect(names.sort()).toEqual(["connection", "host", "user-agent"]);
  clock.advance(2 * 60_000);
  await check();
  expect(requests).toHaveLength(2);
});

test("the newest version and the advisories of this one are shown and logged, until it is updated", async () => {
  const ofTheSite = { ...latest, url: "changelog.html#1100" };
  const { url, at, check, logged } = await newCheck(answer({ ...NEWS, latest: ofTheSite, fieldOfALaterVersion: true }));
  expect(await readUpdateState(at("1.9.1"))).toBeNull();
  await check();
  const state = await readUpdateState(at("1.9.1"));
  const newest = { version: "1.10.0", url: new URL(ofTheSite.url, url).href };
  expect(state).toMatchObject({ version: "1.9.1", newest, answeredAt: expect.any(Date) });
  expect(state?.advisories.map(({ id }) => id)).toEqual(["A-2", "A-1"]);
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 30, version: "1.10.0" },
    { level: 40, id: "A-2", severity: "critical" },
    { level: 40, id: "A-1" },
  ]);
  for (const version of ["1.10.0", "1.11.0-rc.1"])
    expect(await readUpdateState(at(version))).toMatchObject({ newest: null, advisories: [] });
});

test("the project's own document names the version of this source, and is accepted", () => {
  const { latest } = releaseNewsAt("https://docs.example.com/homeport/releases.json").parse(releaseNews());
  expect(latest.version).toBe(ctx().config.build.version);
  expect(latest.url).toMatch(/^https:\/\/docs\.example\.com\/homeport\/changelog\.html#./);
});

describe("a response that cannot be used changes nothing, and the next attempt is in a day", () => {
  const changed = (change: object) => answer({ ...NEWS, latest: { ...latest, ...change } });
  test.each<[string, (response: ServerResponse) => void]>([
    ["an error", (response) => void response.writeHead(500).end("{}")],
    ["a redirect", (response) => void response.writeHead(302, { location: "/elsewhere" }).end()],
    ["no JSON", (response) => void response.end("<html>")],
    ["another document", answer({ versions: [] })],
    ["no version", changed({ version: "latest" })],
    ["a link that runs a script", changed({ url: "javascript:alert(1)" })],
    ["a link without https", changed({ url: "http://example.com/1.10.0" })],
    ["text of several lines", answer({ latest, advisories: [{ ...NEWS.advisories[0], title: "a\nb" }] })],
    ["a range that is none", answer({ latest, advisories: [advisory("A-1", "low", "x".repeat(150))] })],
    ["too many advisories", answer({ latest, advisories: Array(51).fill(NEWS.advisories[0]) })],
    ["a body that breaks off", (response) => response.write("{", () => response.destroy())],
    [
      "a body that unpacks to 10 MB",
      (response) => void response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(10_000_000, 32))),
    ],
  ])("%s", async (_, respond) => {
    let next: (response: ServerResponse) => void = answer(NEWS);
    const { at, check, requests } = await newCheck((response) => next(response));
    await check();
    const before = await readUpdateState(at("1.9.1"));
    next = respond;
    clock.advance(DAY_MS + 1_000);
    await expect(check()).rejects.toThrow();
    await check();
    expect(requests).toHaveLength(2);
    expect(before?.newest).toEqual(latest);
    expect(await readUpdateState(at("1.9.1"))).toEqual(before);
  });
});
