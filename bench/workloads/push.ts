import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { newCertificate, newSigningKey } from "../../dev/apns/credentials";
import { addDevices, addRows, allSent, PAYLOAD } from "../fixtures/outbox";
import type { Bench } from "../lib/bench";
import { homeport, NAMES, peer } from "../lib/contenders";
import { type Drive, type Result, race } from "../lib/race";
import { type Server, startServer } from "../lib/server";
import { atLeast, median, type Row, ratioOf, type Section, toRow } from "../lib/table";

const LEAST_PER_SECOND = 5_000;
const LEAST_OF_BARE = 0.5;
const DEVICES = 40_000;
/** For a drive of a second. */
const ROWS = 6_000;
const SENT_ROWS = 1_000_000;
const BUNDLE_ID = "com.example.homeport";
const IDS = { APNS_KEY_ID: "ABC123DEFG", APNS_TEAM_ID: "TEAM123456" };

/**
 * Notifications from the outbox to a stand-in for APNs, and node:http2 alone to the same one: first with an empty
 * table, then over a million rows that were sent before.
 */
export async function push(bench: Bench): Promise<Section> {
  const standIn = await startApns(bench.folder);
  try {
    const { port } = await told(standIn);
    const apns = { ...IDS, APNS_HOST: "127.0.0.1", APNS_PORT: String(port), APNS_CA: fileOf(bench.folder, "ca.pem") };
    const env = { ...apns, APNS_KEY: fileOf(bench.folder, "key.p8") };
    await addDevices(bench.database, DEVICES, BUNDLE_ID);
    const empty = await raceOnce(bench, env);
    for (let left = SENT_ROWS; left > 0; left -= DEVICES) {
      await addRows(bench.database, randomUUID(), "sent", Math.min(left, DEVICES));
    }
    await bench.database.query('ANALYZE "PushDelivery"');
    const full = await raceOnce(bench, env);
    const { taken, refused } = await told(standIn);
    const rows = [...toRows(empty, "Homeport"), ...toRows(full, "Homeport, over 1,000,000 sent rows")];
    return { title: "push, outbox to APNs", rows, notes: [`${taken} taken, ${refused} refused`], results: empty };
  } finally {
    await standIn.stop();
  }
}

function raceOnce(bench: Bench, env: Record<string, string>): Promise<Result[]> {
  const peerEnv = {
    ...env,
    BUNDLE_ID,
    PAYLOAD: JSON.stringify({ ...PAYLOAD, data: { ...PAYLOAD.data, id: randomUUID() } }),
  };
  return race([
    homeport(bench, async () => driveOutbox(bench), env),
    peer(
      bench,
      NAMES.http2,
      "push.mjs",
      async (server) => driveBare(server),
      () => peerEnv,
    ),
  ]);
}

function driveOutbox({ database }: Bench): Drive {
  return async (seconds) => {
    const event = randomUUID();
    const queued = await addRows(database, event, "queued", seconds * ROWS);
    const load = await allSent(database, event);
    assert.equal(load.count, queued, "not everything was sent");
    return load;
  };
}

function driveBare({ url }: Server): Drive {
  return async (seconds) => {
    const count = seconds * ROWS;
    const startedAt = performance.now();
    const { ok } = await fetch(`${url}/?count=${count}`, { method: "POST" });
    assert.ok(ok);
    return { count, seconds: (performance.now() - startedAt) / 1000, p50Ms: Number.NaN, p99Ms: Number.NaN };
  };
}

function toRows([ours, bare]: Result[], name: string): Row[] {
  assert.ok(ours && bare);
  const perSecond = median(ours.rounds.map((round) => round.perSecond));
  const ratio = ratioOf(ours, bare, "perSecond");
  const rows = [
    toRow({ ...ours, contender: name }, undefined, null, atLeast(perSecond, LEAST_PER_SECOND, "/s")),
    toRow(bare, undefined, ratio, atLeast(ratio, LEAST_OF_BARE)),
  ];
  return rows.map((row) => ({ ...row, p50Ms: null, p99Ms: null }));
}

function startApns(folder: string): Promise<Server> {
  const { privateKey, publicKey } = newSigningKey();
  const tls = newCertificate();
  const files = { "key.p8": privateKey, "key.pub": publicKey, "ca.pem": tls.cert, "tls.json": JSON.stringify(tls) };
  for (const [name, text] of Object.entries(files)) writeFileSync(fileOf(folder, name), text);
  const env = { ...IDS, BUNDLE_ID, PUBLIC_KEY: fileOf(folder, "key.pub"), TLS: fileOf(folder, "tls.json") };
  const args = () => ["--import", "tsx", path.join(import.meta.dirname, "../peers/apns.ts")];
  return startServer({ name: "APNs", command: process.execPath, args, env, ready: "/" }, folder);
}

const fileOf = (folder: string, name: string) => path.join(folder, name);

async function told({ url }: Server): Promise<{ port: number; taken: number; refused: number }> {
  return (await (await fetch(url)).json()) as { port: number; taken: number; refused: number };
}
