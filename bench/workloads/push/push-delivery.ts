import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { newCertificate, newSigningKey } from "../../../dev/apns/credentials";
import { addDeliveries, addDevices, PAYLOAD, waitUntilSent } from "../../fixtures/outbox";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, peer } from "../../lib/candidates";
import { type ApplyLoad, compare, type Result } from "../../lib/compare";
import { type Server, startServer } from "../../lib/server";
import { atLeast, median, type Row, ratioOf, type Section, toRow } from "../../lib/table";

const MIN_PER_SECOND = 5_000;
const MIN_RATIO = 0.5;
const DEVICES = 40_000;
/** Deliveries per second of load. */
const ROWS = 6_000;
const SENT_ROWS = 1_000_000;
const BUNDLE_ID = "com.example.homeport";
const IDS = { APNS_KEY_ID: "ABC123DEFG", APNS_TEAM_ID: "TEAM123456" };

/**
 * Notifications from the outbox to a fake APNs server, compared with plain node:http2: first with an empty table, then
 * with a million rows that have been sent.
 */
export async function pushDelivery(bench: Bench): Promise<Section> {
  const apnsServer = await startFakeApns(bench.folder);
  try {
    const { port } = await readCounts(apnsServer);
    const apns = { ...IDS, APNS_HOST: "127.0.0.1", APNS_PORT: String(port), APNS_CA: fileOf(bench.folder, "ca.pem") };
    const env = { ...apns, APNS_KEY: fileOf(bench.folder, "key.p8") };
    await addDevices(bench.database, DEVICES, BUNDLE_ID);
    const empty = await compareOnce(bench, env);
    for (let left = SENT_ROWS; left > 0; left -= DEVICES) {
      await addDeliveries(bench.database, randomUUID(), "sent", Math.min(left, DEVICES));
    }
    await bench.database.query('ANALYZE "PushDelivery"');
    const full = await compareOnce(bench, env);
    const { accepted, rejected } = await readCounts(apnsServer);
    const rows = [...toRows(empty, "Homeport"), ...toRows(full, "Homeport, 1,000,000 sent rows")];
    return {
      title: "push, outbox to APNs",
      rows,
      notes: [`${accepted} accepted, ${rejected} rejected`],
      results: empty,
    };
  } finally {
    await apnsServer.stop();
  }
}

function compareOnce(bench: Bench, env: Record<string, string>): Promise<Result[]> {
  const peerEnv = {
    ...env,
    BUNDLE_ID,
    PAYLOAD: JSON.stringify({ ...PAYLOAD, data: { ...PAYLOAD.data, id: randomUUID() } }),
  };
  return compare([
    homeport(bench, async () => loadOutbox(bench), env),
    peer(
      bench,
      NAMES.http2,
      "node-http2.mjs",
      async (server) => loadPlainClient(server),
      () => peerEnv,
    ),
  ]);
}

function loadOutbox({ database }: Bench): ApplyLoad {
  return async (seconds) => {
    const event = randomUUID();
    const queued = await addDeliveries(database, event, "queued", seconds * ROWS);
    const load = await waitUntilSent(database, event);
    assert.equal(load.count, queued, "not everything was sent");
    return load;
  };
}

function loadPlainClient({ url }: Server): ApplyLoad {
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
    toRow({ ...ours, candidate: name }, undefined, null, atLeast(perSecond, MIN_PER_SECOND, "/s")),
    toRow(bare, undefined, ratio, atLeast(ratio, MIN_RATIO)),
  ];
  return rows.map((row) => ({ ...row, p50Ms: null, p99Ms: null }));
}

function startFakeApns(folder: string): Promise<Server> {
  const { privateKey, publicKey } = newSigningKey();
  const tls = newCertificate();
  const files = { "key.p8": privateKey, "key.pub": publicKey, "ca.pem": tls.cert, "tls.json": JSON.stringify(tls) };
  for (const [name, text] of Object.entries(files)) writeFileSync(fileOf(folder, name), text);
  const env = { ...IDS, BUNDLE_ID, PUBLIC_KEY: fileOf(folder, "key.pub"), TLS: fileOf(folder, "tls.json") };
  const args = () => ["--import", "tsx", path.join(import.meta.dirname, "../peers/fake-apns.ts")];
  return startServer({ name: "APNs", command: process.execPath, args, env, ready: "/" }, folder);
}

const fileOf = (folder: string, name: string) => path.join(folder, name);

/** The port of the fake APNs server and how many notifications it has accepted and rejected: see bench/peers/fake-apns.ts. */
type Counts = { port: number; accepted: number; rejected: number };

async function readCounts({ url }: Server): Promise<Counts> {
  return (await (await fetch(url)).json()) as Counts;
}
