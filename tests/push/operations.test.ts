import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { listDeliveries } from "@/lib/push/admin/list-deliveries";
import { listPauses } from "@/lib/push/admin/pauses";
import { retryDeliveries } from "@/lib/push/admin/retry";
import { sendMessage } from "@/lib/push/admin/send";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { newAccount } from "@/tests/support/accounts";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  activeDevices,
  clearOutbox,
  deliverDue,
  queueFor,
  recordingPush,
  registeredDevice,
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

const send = (account: { id: string }, title = "A", body = "B") =>
  sendMessage(ctx(), OPERATOR, { kind: "custom", to: { account: account.id }, title, body });
const retry = (ids?: string[]) => retryDeliveries(ctx(), OPERATOR, { ids });

describe("a custom notification", () => {
  test("is queued for each of the account's devices", async () => {
    const account = await newAccount();
    const devices = await activeDevices(account, 2);
    expect(await send(account)).toMatchObject({ devices: 2, waiting: 2, status: "sending", title: "A", body: "B" });
    const { push, sent } = recordingPush();
    await deliverDue({ push });
    expect(sent.map(({ token }) => token).sort()).toEqual(devices.map(({ token }) => token).sort());
    expect(sent[0]?.payload).toMatchObject({ aps: { alert: { title: "A", body: "B" } } });
  });

  test("that is too large for APNs is rejected before anything is queued", async () => {
    const account = await newAccount();
    await activeDevices(account, 1);
    await expect(send(account, "A", "b".repeat(4096))).rejects.toMatchObject({
      extras: { errors: [{ pointer: "/body", detail: expect.stringContaining("APNs accepts 4096") }] },
    });
    expect((await listDeliveries(ctx(), { account: account.id })).deliveries).toEqual([]);
  });
});

test("the list of an account is newest first, filters by state, and never contains payloads", async () => {
  const account = await newAccount();
  await activeDevices(account, 1);
  for (const title of ["One", "Two", "Three"]) {
    await send(account, title, "Between us");
    clock.advance(1_000);
  }
  const of = { account: account.id };
  const { deliveries: all } = await listDeliveries(ctx(), of);
  expect(all.map(({ createdAt }) => createdAt)).toEqual(
    all.map(({ createdAt }) => createdAt).toSorted((a, b) => +b - +a),
  );
  expect(all).toHaveLength(3);
  expect(JSON.stringify(all)).not.toContain("Between us");
  const first = await listDeliveries(ctx(), { ...of, limit: 2 });
  const rest = await listDeliveries(ctx(), { ...of, limit: 2, cursor: first.nextCursor ?? "" });
  expect([...first.deliveries, ...rest.deliveries]).toEqual(all);
  expect(await listDeliveries(ctx(), { ...of, state: "failed" })).toEqual({ deliveries: [], nextCursor: null });
});

test("a pause is listed with its reason until it ends", async () => {
  await queueFor(1);
  await deliverDue({ push: failing("InvalidProviderToken", 403) });
  const pause = { environment: "production", reason: "403 InvalidProviderToken" };
  expect(await listPauses(ctx())).toMatchObject({ pauses: [pause] });
  clock.advance(6 * MINUTE_MS);
  expect(await listPauses(ctx())).toEqual({ pauses: [] });
});

describe("a retry", () => {
  test("requeues failed deliveries and resets their attempts", async () => {
    const { rows } = await queueFor(2);
    await deliverDue({ push: failing("BadTopic") });
    expect(await retry()).toMatchObject({ retried: 2 });
    await deliverDue({ push: recordingPush().push });
    expect(await rows()).toMatchObject(Array(2).fill({ state: "sent", attempts: 1 }));
  });

  test("requeues only the given deliveries", async () => {
    const { rows } = await queueFor(2);
    await deliverDue({ push: failing("BadTopic") });
    const [first] = await rows();
    expect(await retry([first?.id ?? "", randomUUID()])).toMatchObject({ retried: 1 });
    expect(await rows()).toMatchObject([{ state: "queued" }, { state: "failed" }]);
  });

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

  test("ends a pause and makes only the deliveries due that waited for it", async () => {
    const waiting = await queueFor(2);
    await deliverDue({ push: failing("InvalidProviderToken", 403) });
    const other = await queueFor(1);
    const tomorrow = new Date(clock.now().getTime() + DAY_MS / 2);
    const [{ id } = { id: "" }] = await other.rows();
    await ctx().db.queuedPush.updateMany({ where: { id }, data: { nextAttemptAt: tomorrow } });
    expect(await retry()).toMatchObject({ resumed: 2 });
    await deliverDue({ push: recordingPush().push });
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
    await deliverDue({ push: recordingPush().push });
    for (const { rows } of waiting) expect(await rows()).toMatchObject(Array(5).fill({ state: "sent" }));
  });

  test("includes deliveries that are stored as waiting only after the pause has ended", async () => {
    const { rows } = await queueFor(3);
    const writing = gate<void>();
    const slow = new Proxy(ctx().db, {
      get: (db, name, receiver) =>
        name !== "$executeRaw"
          ? Reflect.get(db, name, receiver)
          : async (parts: TemplateStringsArray, ...values: unknown[]) => {
              if (parts.join().includes("AS outcome(")) await writing.opened;
              return db.$executeRaw(parts, ...values);
            },
    }) as Context["db"];
    const push = failing("InvalidProviderToken", 403);
    const sender = createSender({ ...(ctx() as SenderDeps), push, db: slow });
    await sender.claimAndSend();
    await expect.poll(async () => (await listPauses(ctx())).pauses).toHaveLength(1);
    await retry();
    writing.open();
    await sender.finish();
    await deliverDue({ push: recordingPush().push });
    expect(await rows()).toMatchObject(Array(3).fill({ state: "sent" }));
  });
});
