import { randomBytes, randomUUID } from "node:crypto";
import { addAccounts } from "../../fixtures/accounts";
import type { Bench } from "../../lib/bench";
import { homeportWithPush, NAMES, PARSE_APP, parsePeer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import { type RequestSpec, runClosedLoop } from "../../lib/load";
import { SCALE } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { byThroughput, type Section } from "../../lib/table";

const TARGETS = { [NAMES.parse]: 1.5 };
/** As many apps register at a time when a new version is released. */
const CONNECTIONS = 64;
/** An account may have 20 devices: a round ends early if all accounts have them. */
const DEVICES = 20;
/** An account may register 60 times an hour. */
const MAX_REFRESHES = 59;
const JSON_BODY = { "content-type": "application/json" };
const LIMITED = { RATE_LIMITS: "on" };
const newToken = () => randomBytes(32).toString("hex");

/**
 * A new device in each request. Homeport checks a session, counts rate limits in PostgreSQL and sends a challenge; Parse
 * Server accepts installations from anyone.
 */
export async function pushRegister(bench: Bench): Promise<Section> {
  const results = await compare([
    homeportWithPush(bench, (server) => prepareNew(bench, server), LIMITED),
    ...parsePeer(bench, prepareParse, NAMES.parse),
  ]);
  return { title: "push/register, new devices", rows: byThroughput(results, TARGETS), results };
}

/**
 * The usual registration: the app starts, and its device is already registered. Parse Server updates the installation.
 */
export async function pushRefresh(bench: Bench): Promise<Section> {
  const results = await compare([
    homeportWithPush(bench, (server) => prepareKnown(bench, server), LIMITED),
    ...parsePeer(bench, prepareKnownParse, NAMES.parse),
  ]);
  return { title: "push/register, active devices", rows: byThroughput(results), results };
}

/** Registrations of devices that are active already. */
export async function prepareKnown(bench: Bench, { url }: Server): Promise<ApplyLoad> {
  const { database } = bench;
  const accounts = await addAccounts(bench, SCALE.accounts);
  const requests = accounts.map(({ token }) => homeportRequest(token)());
  await once(url, requests);
  await database.query(`UPDATE "PushDevice" SET "status" = 'active'`);
  return async (seconds) => {
    await database.query('TRUNCATE "RateLimitCounter"');
    let i = 0;
    return runClosedLoop(url, { connections: CONNECTIONS, seconds }, () => {
      const shot = requests[i++ % requests.length];
      return i > MAX_REFRESHES * requests.length || !shot ? null : { ...shot, expectedStatus: 200 };
    });
  };
}

async function prepareKnownParse({ url }: Server): Promise<ApplyLoad> {
  const requests = Array.from({ length: SCALE.accounts }, () => parseRequest());
  await once(url, requests);
  return (seconds) => {
    let i = 0;
    return runClosedLoop(url, { connections: CONNECTIONS, seconds }, () => {
      const shot = requests[i++ % requests.length];
      return shot ? { ...shot, expectedStatus: 200 } : null;
    });
  };
}

async function once(url: string, requests: RequestSpec[]): Promise<void> {
  const left = [...requests];
  await runClosedLoop(url, { connections: CONNECTIONS, seconds: 60 }, () => left.pop() ?? null);
}

/** Registrations of new devices. */
export async function prepareNew(bench: Bench, { url }: Server): Promise<ApplyLoad> {
  const { database } = bench;
  const accounts = await addAccounts(bench, SCALE.accounts);
  const requests = Array.from({ length: DEVICES }, () => accounts.map(({ token }) => homeportRequest(token))).flat();
  return async (seconds) => {
    await database.query('TRUNCATE "PushDevice", "RateLimitCounter" CASCADE');
    let i = 0;
    return runClosedLoop(url, { connections: CONNECTIONS, seconds }, () => requests[i++]?.() ?? null);
  };
}

async function prepareParse({ url }: Server): Promise<ApplyLoad> {
  return (seconds) => runClosedLoop(url, { connections: CONNECTIONS, seconds }, parseRequest);
}

function homeportRequest(session: string): () => RequestSpec {
  const headers = { ...JSON_BODY, authorization: `Bearer ${session}` };
  return () => {
    const device = { model: "iPhone18,1", osVersion: "26.1", appVersion: "1.0.0", locale: "en-GB" };
    const body = JSON.stringify({ token: newToken(), installationId: randomUUID(), device });
    return { method: "POST", path: "/api/push/register", headers, body, expectedStatus: 202 };
  };
}

function parseRequest(): RequestSpec {
  const about = { deviceType: "ios", appVersion: "1.0.0", localeIdentifier: "en-GB", timeZone: "Europe/London" };
  const body = JSON.stringify({ ...about, deviceToken: newToken(), installationId: randomUUID() });
  return {
    method: "POST",
    path: "/parse/installations",
    headers: { ...JSON_BODY, ...PARSE_APP },
    body,
    expectedStatus: 201,
  };
}
