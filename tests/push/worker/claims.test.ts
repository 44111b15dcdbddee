import { beforeEach, describe, expect, test } from "vitest";
import { claimDeliveries } from "@/lib/push/worker/claim-deliveries";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { call } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { requeueReceipts } from "@/tests/support/push/deliveries";
import {
  clearOutbox,
  deliverDue,
  heldPush,
  newToken,
  queueFor,
  recordingPush,
  sendDue,
  withStatements,
} from "@/tests/support/push/push";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const OK = { status: 200, reason: null };

beforeEach(clearOutbox);

const claim = async (limit = 250) => (await claimDeliveries(ctx(), { notBefore: new Date(0), limit })).deliveries;

const deps = (changed: Partial<SenderDeps>) => ({ ...(ctx() as SenderDeps), ...changed });

/** A sender that has claimed what is due and sends it. */
async function startedSender(changed: Partial<SenderDeps>) {
  const sender = createSender(deps(changed));
  await sender.claimAndSend();
  return sender;
}

describe("claiming", () => {
  test("each delivery is claimed by one of two workers, once", async () => {
    const { rows } = await queueFor(200);
    const { push, sent } = recordingPush();
    const senders = [createSender(deps({ push })), createSender(deps({ push }))];
    await Promise.all(senders.map((sender) => sender.claimAndSend()));
    await Promise.all(senders.map((sender) => sender.finish()));
    expect(sent).toHaveLength(200);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(200);
    expect((await rows()).every(({ state, attempts }) => state === "sent" && attempts === 1)).toBe(true);
  });

  test("the delivery that has been due longest is claimed first", async () => {
    const old = await queueFor(1);
    clock.advance(SECOND_MS);
    const young = await queueFor(1);
    expect((await claim(1)).map(({ deviceId }) => deviceId)).toEqual([old.devices[0]?.id]);
    expect((await claim(1)).map(({ deviceId }) => deviceId)).toEqual([young.devices[0]?.id]);
  });

  test("no more deliveries run at the same time than allowed", async () => {
    await queueFor(12);
    const counts: number[] = [];
    let underWay = 0;
    const { push } = recordingPush(async () => {
      underWay += 1;
      counts.push(underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      return OK;
    });
    await deliverDue({ push, config: { ...ctx().config, PUSH_CONCURRENCY: 5 } });
    expect(counts).toHaveLength(12);
    expect(Math.max(...counts)).toBe(5);
  });
});

describe("before sending", () => {
  test.each<[string, (deviceId?: string) => unknown]>([
    ["device_state", (id) => ctx().db.pushDevice.updateMany({ where: { id }, data: { status: "invalid" } })],
    ["expired", () => clock.advance(DAY_MS)],
  ])("a delivery is cancelled for its %s", async (reason, change) => {
    const { devices, rows } = await queueFor(1);
    await change(devices[0]?.id);
    expect(await sendDue()).toEqual([]);
    expect(await rows()).toMatchObject([{ state: "cancelled", reason, attempts: 0 }]);
  });

  test("a delivery that waited for more than five seconds is requeued", async () => {
    const { rows } = await queueFor(2);
    const { push, sent, letGo } = heldPush();
    const sender = createSender(deps({ push, config: { ...ctx().config, PUSH_CONCURRENCY: 1 } }));
    const taking = sender.claimAndSend();
    await expect.poll(() => sent.length).toBe(1);
    clock.advance(6 * SECOND_MS);
    letGo();
    await taking;
    await sender.finish();
    expect(sent).toHaveLength(1);
    expect((await rows()).map(({ state, attempts }) => `${state} ${attempts}`).sort()).toEqual(["queued 0", "sent 1"]);
  });

  test("a device that is deleted during its delivery does not affect the others", async () => {
    const { account, devices, rows } = await queueFor(3);
    const { push, sent, letGo } = heldPush();
    const sender = await startedSender({ push });
    await expect.poll(() => sent.length).toBe(3);
    expect((await call("DELETE", `/api/push/devices/${devices[0]?.id}`, { token: account.token })).status).toBe(204);
    letGo();
    await sender.finish();
    expect(await rows()).toMatchObject([{ state: "sent" }, { state: "sent" }]);
  });
});

test("a fault in one delivery keeps neither the others from being sent nor the worker from finishing", async () => {
  const { rows } = await queueFor(3);
  let asked = 0;
  const { push } = recordingPush(async () => (++asked === 1 ? (null as never) : OK));
  await deliverDue({ push });
  expect((await rows()).map(({ state }) => state).sort()).toEqual(["sending", "sent", "sent"]);
});

test("a delivery whose token is rejected is sent to the token that its device has since the claim", async () => {
  const { devices, rows } = await queueFor(1);
  const [id, token] = [devices[0]?.id, newToken()];
  const move = async () => {
    await ctx().db.pushDevice.update({ where: { id }, data: { token, registeredAt: ctx().now() } });
    return { status: 410, reason: "Unregistered" };
  };
  await deliverDue({ push: recordingPush(move).push });
  expect(await rows()).toMatchObject([{ state: "queued", attempts: 1, apnsStatus: 410, reason: "Unregistered" }]);
  const sent = await sendDue();
  expect(sent).toMatchObject([{ token }]);
  expect(await rows()).toMatchObject([{ state: "sent", attempts: 2 }]);
});

test("a worker that stops requeues the deliveries that it has not started", async () => {
  const { rows } = await queueFor(5);
  const { push, sent, letGo } = heldPush();
  let isStopping = false;
  const sender = createSender(deps({ push, config: { ...ctx().config, PUSH_CONCURRENCY: 2 } }), () => isStopping);
  const taking = sender.claimAndSend();
  await expect.poll(() => sent.length).toBe(2);
  isStopping = true;
  letGo();
  await taking;
  await sender.finish();
  const states = (await rows()).map(({ state, attempts, leaseUntil }) => `${state} ${attempts} ${leaseUntil}`).sort();
  expect(states).toEqual(["queued 0 null", "queued 0 null", "queued 0 null", "sent 1 null", "sent 1 null"]);
});

describe("a worker that was killed", () => {
  test("holds its deliveries for a minute; then they are sent as a second attempt", async () => {
    const { rows } = await queueFor(3);
    await claim();
    const { push, sent } = recordingPush();
    clock.advance(59 * SECOND_MS);
    await maintainOutbox(ctx());
    await deliverDue({ push });
    expect(sent).toEqual([]);
    clock.advance(2 * SECOND_MS);
    await maintainOutbox(ctx());
    await deliverDue({ push });
    expect(sent).toHaveLength(3);
    expect(await rows()).toMatchObject(Array(3).fill({ state: "sent", attempts: 2, leaseUntil: null }));
  });

  test("fails its delivery after eight attempts, if the delivery crashes every worker", async () => {
    const { rows } = await queueFor(1);
    for (let i = 0; i < 8; i++) {
      expect(await claim()).toHaveLength(1);
      clock.advance(61 * SECOND_MS);
      await maintainOutbox(ctx());
    }
    expect(await claim()).toEqual([]);
    expect(await rows()).toMatchObject([{ state: "failed", reason: "abandoned", attempts: 8 }]);
  });
});

describe("a worker that continues after its lease", () => {
  async function sendingLate(response?: Parameters<typeof heldPush>[0]) {
    const { rows } = await queueFor(1);
    const { push, letGo } = heldPush(response);
    const sender = await startedSender({ push });
    clock.advance(61 * SECOND_MS);
    await maintainOutbox(ctx());
    const finish = () => {
      letGo();
      return sender.finish();
    };
    return { rows, finish };
  }

  test("cannot undo what another worker has sent", async () => {
    const { rows, finish } = await sendingLate({ status: 400, reason: null });
    await sendDue();
    await finish();
    expect(await rows()).toMatchObject([{ state: "sent", apnsStatus: 200, attempts: 2 }]);
  });

  test("keeps the delivery from being sent again, if it succeeds", async () => {
    const { rows, finish } = await sendingLate();
    await finish();
    expect(await sendDue()).toEqual([]);
    expect(await rows()).toMatchObject([{ state: "sent" }]);
  });
});

describe("retention", () => {
  test("deletes finished deliveries after 30 days and keeps queued ones", async () => {
    const settled = await queueFor(3);
    await sendDue();
    const waiting = await queueFor(1);
    clock.advance(31 * DAY_MS);
    const fresh = await queueFor(1);
    await sendDue();
    await requeueReceipts(waiting.devices[0]?.id ?? "");
    await maintainOutbox(ctx());
    expect(await settled.rows()).toEqual([]);
    expect(await ctx().db.queuedPush.count({ where: { deviceId: waiting.devices[0]?.id } })).toBe(1);
    expect(await fresh.rows()).toHaveLength(1);
  });
});

describe("a worker whose clock is wrong", () => {
  const wrong = (ms: number) => ({ now: () => new Date(clock.now().getTime() + ms) });

  test.each([HOUR_MS, -HOUR_MS])("by %d ms releases no lease of another worker", async (ms) => {
    const { rows } = await queueFor(2);
    const slow = heldPush();
    const sender = await startedSender({ push: slow.push });
    await expect.poll(() => slow.sent.length).toBe(2);
    await maintainOutbox({ ...ctx(), ...wrong(ms) });
    const { push, sent } = recordingPush();
    await deliverDue({ push, ...wrong(ms) });
    expect(sent).toEqual([]);
    slow.letGo();
    await sender.finish();
    expect(await rows()).toMatchObject(Array(2).fill({ state: "sent", attempts: 1 }));
  });

  test.each([HOUR_MS, -HOUR_MS])("by %d ms has leases of a minute and releases expired ones", async (ms) => {
    const { rows } = await queueFor(1);
    await claimDeliveries({ ...ctx(), ...wrong(ms) }, { notBefore: new Date(0), limit: 1 });
    await maintainOutbox(ctx());
    expect(await rows()).toMatchObject([{ state: "sending" }]);
    clock.advance(61 * SECOND_MS);
    await maintainOutbox({ ...ctx(), ...wrong(ms) });
    expect(await rows()).toMatchObject([{ state: "queued" }]);
  });

  test.each([HOUR_MS, -HOUR_MS])("by %d ms backs off for the usual time", async (ms) => {
    const { rows } = await queueFor(1);
    await deliverDue({ push: recordingPush(async () => ({ status: 429, reason: null })).push, ...wrong(ms) });
    const [row] = await rows();
    const waitsMs = (row?.nextAttemptAt.getTime() ?? 0) - clock.now().getTime();
    expect(waitsMs).toBeGreaterThan(0);
    expect(waitsMs).toBeLessThanOrEqual(MINUTE_MS + 10 * SECOND_MS);
  });

  test("by a year deletes no recent delivery", async () => {
    const { rows } = await queueFor(1);
    await sendDue();
    await maintainOutbox({ ...ctx(), ...wrong(365 * DAY_MS) });
    expect(await rows()).toHaveLength(1);
  });

  test.each([2 * DAY_MS, -2 * DAY_MS])("by %d ms sends what is due and nothing that has expired", async (ms) => {
    const { push, sent } = recordingPush();
    const expired = await queueFor(1);
    clock.advance(DAY_MS);
    const due = await queueFor(1);
    await deliverDue({ push, ...wrong(ms) });
    expect(await expired.rows()).toMatchObject([{ state: "cancelled", reason: "expired" }]);
    expect(await due.rows()).toMatchObject([{ state: "sent" }]);
    expect(sent).toHaveLength(1);
  });
});

describe("a database clock that is set back", () => {
  test("delays neither deliveries that were due nor later ones", async () => {
    const { push, sent } = recordingPush();
    const sender = await startedSender({ push });
    const before = await queueFor(1);
    await sender.claimAndSend();
    await sender.finish();
    const [receipt] = await before.rows();
    await requeueReceipts(receipt?.deviceId ?? "", receipt?.createdAt);
    clock.advance(-HOUR_MS);
    await queueFor(1);
    await sender.claimAndSend();
    await sender.finish();
    expect(sent).toHaveLength(3);
  });

  test("releases the leases of a worker that was killed before", async () => {
    const { rows } = await queueFor(1);
    await claim();
    clock.advance(-HOUR_MS);
    await maintainOutbox(ctx());
    expect(await rows()).toMatchObject([{ state: "queued" }]);
  });

  test("by a few minutes releases no lease", async () => {
    await queueFor(1);
    await claim();
    clock.advance(-5 * MINUTE_MS);
    await maintainOutbox(ctx());
    clock.advance(5 * MINUTE_MS);
    expect(await claim()).toEqual([]);
  });
});

test("a delivery that was sent during an outage of the database is not sent again", async () => {
  const { rows } = await queueFor(3);
  let [isAway, failures] = [true, 0];
  const away = withStatements(() => {
    if (isAway) throw new Error(`connection terminated ${++failures}`);
  });
  const { push, sent } = recordingPush();
  const sender = await startedSender({ push, db: away });
  await expect.poll(() => failures).toBeGreaterThan(0);
  clock.advance(61 * SECOND_MS);
  isAway = false;
  await sender.maintain();
  await sender.finish();
  expect(sent).toHaveLength(3);
  expect(await rows()).toMatchObject(Array(3).fill({ state: "sent", attempts: 1, reason: null }));
});
