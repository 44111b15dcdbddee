import { beforeEach, describe, expect, test } from "vitest";
import { listPauses } from "@/lib/push/admin/pauses";
import { retryDeliveries } from "@/lib/push/admin/retry";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  clearOutbox,
  deliverDue,
  queueFor,
  recordingPush,
  registeredDevice,
  sendDue,
  withStatements,
} from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const failing = (reason: string, status = 400) => recordingPush(async () => ({ status, reason })).push;

type Answer = { status: number; reason: string };

beforeEach(clearOutbox);

/** A promise, and what fulfils it. */
function gate<T>() {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const retry = (ids?: string[]) => retryDeliveries(ctx(), OPERATOR, { ids });

describe("a retry", () => {
  test("skips expired deliveries, and secret ones without a payload", async () => {
    const { rows } = await queueFor(1);
    await deliverDue({ push: failing("BadTopic") });
    clock.advance(2 * DAY_MS);
    const { device } = await registeredDevice(await newAccount());
    await ctx().db.pushReceipt.updateMany({ where: { deviceId: device.id }, data: { state: "failed" } });
    await retry();
    expect(await rows()).toMatchObject([{ state: "failed" }]);
    expect(await deliveriesOf({ deviceId: device.id })).toMatchObject([{ state: "failed" }]);
  });

  test("skips what the owner has turned off since it failed", async () => {
    const { account, rows } = await queueFor(1);
    const other = await queueFor(1);
    await deliverDue({ push: failing("BadTopic") });
    await call("PUT", "/api/push/preferences", { json: { kinds: { custom: false } }, token: account.token });
    const failed = [...(await rows()), ...(await other.rows())];
    expect(await retry(failed.map(({ id }) => id))).toMatchObject({ retried: 1 });
    await sendDue();
    expect(await rows()).toMatchObject([{ state: "failed" }]);
    expect(await other.rows()).toMatchObject([{ state: "sent" }]);
  });

  test("ends a pause and makes only the deliveries due that waited for it", async () => {
    const waiting = await queueFor(2);
    await deliverDue({ push: failing("InvalidProviderToken", 403) });
    const other = await queueFor(1);
    const tomorrow = new Date(clock.now().getTime() + DAY_MS / 2);
    const [{ id } = { id: "" }] = await other.rows();
    await ctx().db.queuedPush.updateMany({ where: { id }, data: { nextAttemptAt: tomorrow } });
    expect(await retry()).toMatchObject({ resumed: 2 });
    await sendDue();
    expect(await waiting.rows()).toMatchObject(Array(2).fill({ state: "sent" }));
    expect(await other.rows()).toMatchObject([{ state: "queued" }]);
  });

  test("ends the pauses of two workers that met the same error one after the other", async () => {
    const config = { ...ctx().config, PUSH_CONCURRENCY: 1 };
    const refusals = [gate<Answer>(), gate<Answer>()];
    const waiting = [];
    const senders = [];
    for (const { opened } of refusals) {
      const sender = createSender({ ...(ctx() as SenderDeps), config, push: recordingPush(() => opened).push });
      waiting.push(await queueFor(5));
      senders.push({ sender, taking: sender.claimAndSend() });
      await expect.poll(() => ctx().db.queuedPush.count({ where: { leaseUntil: null } })).toBe(0);
    }
    for (const [i, { open }] of refusals.entries()) {
      open({ status: 403, reason: "InvalidProviderToken" });
      await senders[i]?.taking;
      await senders[i]?.sender.finish();
      clock.advance(MINUTE_MS);
    }
    expect(await retry()).toMatchObject({ resumed: 10 });
    await sendDue();
    for (const { rows } of waiting) expect(await rows()).toMatchObject(Array(5).fill({ state: "sent" }));
  });

  test("includes deliveries that are stored as waiting only after the pause has ended", async () => {
    const { rows } = await queueFor(3);
    const writing = gate<void>();
    const slow = withStatements((sql) => sql.includes("AS outcome(") && writing.opened);
    const push = failing("InvalidProviderToken", 403);
    const sender = createSender({ ...(ctx() as SenderDeps), push, db: slow });
    await sender.claimAndSend();
    await expect.poll(async () => (await listPauses(ctx())).pauses).toHaveLength(1);
    await retry();
    writing.open();
    await sender.finish();
    await sendDue();
    expect(await rows()).toMatchObject(Array(3).fill({ state: "sent" }));
  });
});
