import { beforeEach, describe, expect, test } from "vitest";
import { claimDeliveries } from "@/lib/push/worker/claim-deliveries";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { clock, ctx } from "@/tests/support/context";
import { requeueReceipts } from "@/tests/support/push/deliveries";
import { clearOutbox, deliverDue, heldPush, queueFor, recordingPush } from "@/tests/support/push/push";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

beforeEach(clearOutbox);

const claim = async (limit = 250) => (await claimDeliveries(ctx(), { notBefore: new Date(0), limit })).deliveries;
const deps = (changed: Partial<SenderDeps>) => ({ ...(ctx() as SenderDeps), ...changed });

describe("a worker whose clock is wrong", () => {
  const wrong = (ms: number) => ({ now: () => new Date(clock.now().getTime() + ms) });

  test.each([HOUR_MS, -HOUR_MS])("by %d ms releases no lease of another worker", async (ms) => {
    const { rows } = await queueFor(2);
    const slow = heldPush();
    const sender = createSender(deps({ push: slow.push }));
    await sender.claimAndSend();
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

  test.each([HOUR_MS, -HOUR_MS])("by %d ms backs off for the usual time", async (ms) => {
    const { rows } = await queueFor(1);
    await deliverDue({ push: recordingPush(async () => ({ status: 429, reason: null })).push, ...wrong(ms) });
    const [row] = await rows();
    const waitsMs = (row?.nextAttemptAt.getTime() ?? 0) - clock.now().getTime();
    expect(waitsMs).toBeGreaterThan(0);
    expect(waitsMs).toBeLessThanOrEqual(MINUTE_MS + 10 * SECOND_MS);
  });
});

test("a worker whose clock is a year ahead deletes no recent delivery", async () => {
  const { rows } = await queueFor(1);
  await deliverDue({ push: recordingPush().push });
  const yearAhead = { ...ctx(), now: () => new Date(clock.now().getTime() + 365 * DAY_MS) };
  await maintainOutbox(yearAhead);
  expect(await rows()).toHaveLength(1);
});

describe("a database clock that is set back", () => {
  test("delays neither deliveries that were due nor later ones", async () => {
    const { push, sent } = recordingPush();
    const sender = createSender(deps({ push }));
    await sender.claimAndSend();
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
