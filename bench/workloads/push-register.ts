import { randomBytes, randomUUID } from "node:crypto";
import { registerAccounts } from "../fixtures/accounts";
import type { Bench } from "../lib/bench";
import { homeportWithPush, NAMES, PARSE_APP, parseServer } from "../lib/contenders";
import { flatOut, type Shot } from "../lib/load";
import { type Drive, race } from "../lib/race";
import type { Server } from "../lib/server";
import { byThroughput, type Section } from "../lib/table";

const WANTED = { [NAMES.parse]: 1.5 };
const CONNECTIONS = 16;
/** An account may have 20 devices: a round ends when all have them, if not before. */
const ACCOUNTS = 250;
const DEVICES = 20;
/** An account may register 60 times an hour. */
const MOST_REFRESHES = 59;
const JSON_BODY = { "content-type": "application/json" };
const newToken = () => randomBytes(32).toString("hex");

/**
 * A device that was never seen before, each time. The product checks a session, counts the limits in PostgreSQL and
 * asks for proof; Parse Server takes the installation from anyone.
 */
export async function pushRegister(bench: Bench): Promise<Section> {
  // Counted limits need addresses of their own, or the bench could not register its accounts.
  const limited = { RATE_LIMITS: "on", TRUSTED_PROXY_HOPS: "1" };
  const results = await race([
    homeportWithPush(bench, (server) => prepareProduct(bench, server), limited),
    parseServer(bench, prepareParse, "native", NAMES.parse),
  ]);
  return { title: "push/register, a new installation each", rows: byThroughput(results, WANTED), results };
}

/**
 * What nearly every registration is: the app starts, and its device is registered already. Parse Server looks the
 * installation up and updates it.
 */
export async function pushRefresh(bench: Bench): Promise<Section> {
  const limited = { RATE_LIMITS: "on", TRUSTED_PROXY_HOPS: "1" };
  const results = await race([
    homeportWithPush(bench, (server) => prepareKnown(bench, server), limited),
    parseServer(bench, prepareKnownParse, "native", NAMES.parse),
  ]);
  return { title: "push/register, an active device", rows: byThroughput(results), results };
}

async function prepareKnown({ database }: Bench, { url }: Server): Promise<Drive> {
  const accounts = await registerAccounts(url, ACCOUNTS);
  const shots = accounts.map(({ token }) => productShot(token)());
  await once(url, shots);
  await database.query(`UPDATE "PushDevice" SET "status" = 'active'`);
  return async (seconds) => {
    await database.query('TRUNCATE "RateLimit"');
    let i = 0;
    return flatOut(url, { connections: CONNECTIONS, seconds }, () => {
      const shot = shots[i++ % shots.length];
      return i > MOST_REFRESHES * shots.length || !shot ? null : { ...shot, expect: 200 };
    });
  };
}

async function prepareKnownParse({ url }: Server): Promise<Drive> {
  const shots = Array.from({ length: ACCOUNTS }, () => parseShot());
  await once(url, shots);
  return (seconds) => {
    let i = 0;
    return flatOut(url, { connections: CONNECTIONS, seconds }, () => {
      const shot = shots[i++ % shots.length];
      return shot ? { ...shot, expect: 200 } : null;
    });
  };
}

/** Fires each shot one time. */
async function once(url: string, shots: Shot[]): Promise<void> {
  const left = [...shots];
  await flatOut(url, { connections: CONNECTIONS, seconds: 60 }, () => left.pop() ?? null);
}

async function prepareProduct({ database }: Bench, { url }: Server): Promise<Drive> {
  const accounts = await registerAccounts(url, ACCOUNTS);
  const shots = Array.from({ length: DEVICES }, () => accounts.map(({ token }) => productShot(token))).flat();
  return async (seconds) => {
    await database.query('TRUNCATE "PushDevice", "RateLimit" CASCADE');
    let i = 0;
    return flatOut(url, { connections: CONNECTIONS, seconds }, () => shots[i++]?.() ?? null);
  };
}

async function prepareParse({ url }: Server): Promise<Drive> {
  return (seconds) => flatOut(url, { connections: CONNECTIONS, seconds }, parseShot);
}

function productShot(session: string): () => Shot {
  const headers = { ...JSON_BODY, authorization: `Bearer ${session}` };
  return () => {
    const device = { model: "iPhone18,1", osVersion: "26.1", appVersion: "1.0.0", locale: "en-GB" };
    const body = JSON.stringify({ token: newToken(), installationId: randomUUID(), device });
    return { method: "POST", path: "/api/push/register", headers, body, expect: 202 };
  };
}

function parseShot(): Shot {
  const about = { deviceType: "ios", appVersion: "1.0.0", localeIdentifier: "en-GB", timeZone: "Europe/London" };
  const body = JSON.stringify({ ...about, deviceToken: newToken(), installationId: randomUUID() });
  return { method: "POST", path: "/parse/installations", headers: { ...JSON_BODY, ...PARSE_APP }, body, expect: 201 };
}
