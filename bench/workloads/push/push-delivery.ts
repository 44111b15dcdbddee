import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { addDevices, addReceipts, announce, PAYLOAD, waitUntilSent } from "../../fixtures/outbox";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, peer } from "../../lib/candidates";
import { type ApplyLoad, type Candidate, compare, type Result } from "../../lib/compare";
import { isSmoke } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { atLeast, type Row, ratioOf, ratioSpread, type Section, spreadOf, toRow } from "../../lib/table";
import { BUNDLE_ID, type FakeApns, readCounts, startFakeApns } from "./fake-apns";

const MIN_PER_SECOND = 5_000;
/** The minimum of Homeport's throughput divided by plain node:http2's. */
const MIN_RATIO = 0.6;
/** The minimum of that ratio with many receipts, divided by the ratio with none. */
const MIN_SHARE = 0.9;
/** A round trip to Apple from another continent. */
const ROUND_TRIP_MS = 60;
/** Deliveries per second of load. */
const ROWS = isSmoke ? 1_000 : 8_000;
export const DEVICES = isSmoke ? 1_000 : 40_000;
const RECEIPTS = isSmoke ? 20_000 : 10_000_000;

/**
 * Notifications from the outbox to a fake APNs server, compared with plain node:http2: with an empty table of receipts,
 * with a round trip of 60 ms, and with ten million receipts.
 */
export async function pushDelivery(bench: Bench): Promise<Section> {
  const apns = await startFakeApns(bench.folder);
  const distant = await startFakeApns(bench.folder, ROUND_TRIP_MS);
  await addDevices(bench.database, DEVICES, BUNDLE_ID);
  const empty = await compare([outbox(bench, apns), plainClient(bench, apns)]);
  const delayed = await compare([outbox(bench, distant)]);
  await addReceipts(bench.database, RECEIPTS);
  const full = await compare([outbox(bench, apns), plainClient(bench, apns)]);
  const counts = [await readCounts(apns.server), await readCounts(distant.server)];
  const [accepted, rejected] = [counts.map((count) => count.accepted), counts.map((count) => count.rejected)];
  await Promise.all([apns.server.stop(), distant.server.stop()]);
  return {
    title: "push, outbox to APNs",
    rows: toRows(empty, delayed, full).map((row) => ({ ...row, p50Ms: null, p99Ms: null })),
    notes: [`${sum(accepted)} accepted, ${sum(rejected)} rejected`],
    results: [...empty, ...delayed, ...full],
  };
}

function outbox(bench: Bench, { env }: FakeApns): Candidate {
  return homeport(bench, async () => sendAnnouncements(bench), env);
}

/** Announcements to the devices that the workload has added. */
export function sendAnnouncements({ database }: Bench): ApplyLoad {
  return async (seconds) => {
    const announcement = await announce(database, seconds * ROWS);
    assert.equal(announcement.count, seconds * ROWS, "there are too few devices");
    return waitUntilSent(database, announcement);
  };
}

function plainClient(bench: Bench, { env }: FakeApns): Candidate {
  const payload = JSON.stringify({ ...PAYLOAD, data: { ...PAYLOAD.data, id: randomUUID() } });
  const prepare = async ({ url }: Server): Promise<ApplyLoad> => {
    return async (seconds) => {
      const count = seconds * ROWS;
      const startedAt = performance.now();
      const { ok } = await fetch(`${url}/?count=${count}`, { method: "POST" });
      assert.ok(ok);
      return { count, seconds: (performance.now() - startedAt) / 1000, p50Ms: Number.NaN, p99Ms: Number.NaN };
    };
  };
  return peer(bench, NAMES.http2, "node-http2.mjs", prepare, () => ({ ...env, BUNDLE_ID, PAYLOAD: payload }));
}

function toRows([empty, bare]: Result[], [delayed]: Result[], [full, bareThen]: Result[]): Row[] {
  assert.ok(empty && bare && delayed && full && bareThen);
  const ratio = ratioSpread(empty, bare, "perSecond");
  const share = ratioOf(full, bareThen, "perSecond") / ratio.median;
  const fast = (result: Result) => atLeast(spreadOf(result, "perSecond"), MIN_PER_SECOND, "/s");
  const millions = `Homeport, ${RECEIPTS.toLocaleString("en-US")} receipts, against none`;
  return [
    toRow(empty, undefined, null, fast(empty)),
    toRow(bare, undefined, ratio, atLeast(ratio, MIN_RATIO)),
    toRow({ ...delayed, candidate: `Homeport, round trip of ${ROUND_TRIP_MS} ms` }, undefined, null, fast(delayed)),
    toRow({ ...full, candidate: millions }, undefined, share, atLeast(share, MIN_SHARE)),
  ];
}

const sum = (figures: number[]) => figures.reduce((a, b) => a + b, 0);
