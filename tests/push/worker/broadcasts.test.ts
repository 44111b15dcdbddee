import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { announceVersion } from "@/lib/push/admin/announce";
import { cancelMessage } from "@/lib/push/admin/cancel";
import { showMessage } from "@/lib/push/admin/list-messages";
import { queueBroadcast } from "@/lib/push/outbox/broadcasts";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import type { SenderDeps } from "@/lib/push/worker/sender";
import { startWorker } from "@/lib/push/worker/worker";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import {
  accountWithDevices,
  activeDevices,
  clearOutbox,
  insertDevices,
  newToken,
  recordingPush,
  sendDue,
} from "@/tests/support/push/push";

const DAY_MS = 24 * 60 * 60 * 1000;
/** A bundle of its own, so that a test announces to its own devices alone. */
const newBundle = () => `com.example.${randomUUID()}`;
let lastVersion = 0;
const newVersion = () => `1.0.${++lastVersion}`;

beforeEach(async () => {
  await clearOutbox();
  await ctx().db.pushBroadcast.updateMany({ data: { endedAt: ctx().now() } });
});

async function announce(version: string, bundleId: string, perSecond = 1_000) {
  const config = { APNS_BUNDLE_IDS: [bundleId] };
  return withContext({ config }, () =>
    announceVersion(ctx(), OPERATOR, { kind: "app.new_version", version, to: { bundleId }, perSecond }),
  );
}

/** Announces a new version to so many devices, which a new app has. */
async function announcedTo(devices: number, perSecond?: number) {
  const [bundleId, version] = [newBundle(), newVersion()];
  await activeDevices(await newAccount(), devices, { bundleId });
  const { id } = await announce(version, bundleId, perSecond);
  return { bundleId, version, id };
}

async function queueAll(): Promise<void> {
  while (await queueBroadcast(ctx()));
}

const deliveries = (version: string) => deliveriesOf({ eventKey: `version:${version}` });

describe("an announcement", () => {
  test("is queued for every active device of its app once, however often the version is announced", async () => {
    const [bundleId, version] = [newBundle(), newVersion()];
    const [account, ...mine] = await accountWithDevices(5, { bundleId });
    await activeDevices(account, 1);
    await insertDevices(account, [newToken()]); // pending
    const message = await announce(version, bundleId);
    expect(message).toMatchObject({ status: "queueing", title: version, devices: 5, waiting: 0, perSecond: 1_000 });
    await queueAll();
    expect(await showMessage(ctx(), message.id)).toMatchObject({ status: "sending", waiting: 5, queueingEndsAt: null });
    const [late] = await activeDevices(account, 1, { bundleId });
    expect(await announce(version, bundleId)).toMatchObject({ id: message.id });
    await queueAll();
    const rows = await deliveries(version);
    expect(rows.map(({ deviceId }) => deviceId).sort()).toEqual([...mine, late].map((device) => device?.id).sort());
    await sendDue();
    await announce(version, bundleId);
    await queueAll();
    expect(await showMessage(ctx(), message.id)).toMatchObject({ status: "ended", sent: 6, waiting: 0 });
  });

  test("is due at its rate and expires seven days later, whenever it is queued", async () => {
    const { version, id } = await announcedTo(4, 2);
    await queueAll();
    const rows = (await deliveries(version)).toSorted((a, b) => +a.nextAttemptAt - +b.nextAttemptAt);
    const first = rows[0]?.nextAttemptAt.getTime() ?? 0;
    expect(rows.map(({ nextAttemptAt }) => nextAttemptAt.getTime() - first)).toEqual([0, 500, 1000, 1500]);
    const { startsAt } = await ctx().db.pushBroadcast.findUniqueOrThrow({ where: { messageId: id } });
    const lives = rows.map(({ expiresAt }) => +expiresAt - +startsAt - 7 * DAY_MS);
    expect(lives).toEqual([0, 500, 1000, 1500]);
  });

  test("is queued a minute ahead, and keeps its rate after workers were away", async () => {
    const { version, id } = await announcedTo(3, 1);
    const soon = { messageId: id };
    await ctx().db.pushBroadcast.update({ where: soon, data: { nextDueAt: new Date(+clock.now() + 61_000) } });
    expect(await queueBroadcast(ctx())).toBe(false);
    clock.advance(3_600_000);
    await queueAll();
    const due = (await deliveries(version)).map(({ nextAttemptAt }) => +nextAttemptAt).sort();
    expect(due.map((at) => at - (due[0] ?? 0))).toEqual([0, 1_000, 2_000]);
    expect(due[0]).toBeGreaterThan(+clock.now() - 60_000);
  });

  test("is queued and sent by the worker, each device once, by two workers at once", async () => {
    const [bundleId, version] = [newBundle(), newVersion()];
    await activeDevices(await newAccount(), 20, { bundleId });
    const { push, sent } = recordingPush();
    const { id } = await announce(version, bundleId);
    const workers = [1, 2].map(() => startWorker({ ...ctx(), push } as SenderDeps & Context));
    try {
      await expect.poll(async () => (await showMessage(ctx(), id)).sent).toBe(20);
    } finally {
      for (const worker of workers) await worker.stop();
    }
    expect(new Set(sent.map(({ token }) => token)).size).toBe(20);
    expect(sent).toHaveLength(20);
  });
});

test.runIf(postgresUrl)(
  "on PostgreSQL an index returns the next devices of an announcement in their order",
  async () => {
    const bundleId = newBundle();
    await activeDevices(await newAccount(), 3, { bundleId });
    await announce(newVersion(), bundleId);
    const queue = (db: ReturnType<typeof ctx>["db"]) => queueBroadcast({ ...ctx(), db });
    const statements = await statementsWithoutIndex(queue, { inOrder: true });
    expect(statements.filter((statement) => statement.includes("PushDevice"))).toEqual([]);
  },
);

describe("a canceled announcement", () => {
  test("queues nothing more, and its queued deliveries end unsent", async () => {
    const { bundleId, id } = await announcedTo(3);
    await queueAll();
    await activeDevices(await newAccount(), 1, { bundleId });
    expect(await cancelMessage(ctx(), OPERATOR, id)).toMatchObject({ status: "canceled", waiting: 3 });
    const sent = await sendDue();
    expect(sent).toEqual([]);
    expect(await queueBroadcast(ctx())).toBe(false);
    const ended = { state: "cancelled", reason: "canceled_by_operator", count: 3 };
    expect(await showMessage(ctx(), id)).toMatchObject({ waiting: 0, cancelled: 3, outcomes: [ended] });
  });

  test("can be announced again, and then reaches the devices that were not notified", async () => {
    const [bundleId, version] = [newBundle(), newVersion()];
    const [account, first] = await accountWithDevices(1, { bundleId });
    const { id } = await announce(version, bundleId);
    await queueAll();
    await sendDue();
    const [second] = await activeDevices(account, 1, { bundleId });
    await announce(version, bundleId);
    await queueAll();
    await cancelMessage(ctx(), OPERATOR, id);
    await sendDue();
    expect(await deliveries(version)).toMatchObject([
      { deviceId: first?.id, state: "sent" },
      { deviceId: second?.id, state: "cancelled" },
    ]);
    expect(await announce(version, bundleId)).toMatchObject({ status: "queueing", canceledAt: null });
    await queueAll();
    const sent = await sendDue();
    expect(sent).toMatchObject([{ token: second?.token }]);
    expect(await showMessage(ctx(), id)).toMatchObject({ status: "ended", sent: 2, cancelled: 0, waiting: 0 });
  });
});

test("an announcement ends when it expires, if a device was deleted while it waited, and keeps its counts", async () => {
  const [bundleId, version] = [newBundle(), newVersion()];
  const [account, gone] = await accountWithDevices(3, { bundleId });
  const { id } = await announce(version, bundleId);
  await queueAll();
  const { expiresAt } = await showMessage(ctx(), id);
  await call("DELETE", `/api/push/devices/${gone?.id}`, { token: account.token });
  await sendDue();
  clock.advance(expiresAt.getTime() - clock.now().getTime());
  expect(await cancelMessage(ctx(), OPERATOR, id)).toMatchObject({ status: "ended", canceledAt: null });
  clock.advance(29 * DAY_MS);
  await maintainOutbox(ctx());
  expect(await showMessage(ctx(), id)).toMatchObject({ sent: 2, waiting: 0, status: "ended" });
});
