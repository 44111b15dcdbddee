import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import type { Prisma } from "@/lib/db/generated/client";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activeDevices, clearOutbox, deliverDue, recordingPush } from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;
const words = { kind: "custom", title: "A title", body: "A body", link: null } as const;

beforeEach(clearOutbox);

/** Inserts a row as version 1.0 does, with other columns as given. */
async function insertOldDelivery(deviceId: string, changed: Partial<Prisma.PushDeliveryCreateManyInput> = {}) {
  const now = ctx().now();
  const row = { deviceId, eventKey: randomUUID(), kind: "custom", priority: 10, attempts: 0, createdAt: now };
  const payload = { aps: { alert: { title: "Old" } }, data: { v: 1, kind: "custom" } };
  const times = { nextAttemptAt: now, expiresAt: new Date(now.getTime() + 60 * MINUTE_MS) };
  return ctx().db.pushDelivery.create({ data: { ...row, ...times, payload, ...changed } });
}

test("what an instance of version 1.0 queues during an upgrade is sent once, with its id and payload", async () => {
  const [device] = await activeDevices(await newAccount(), 1);
  const old = await insertOldDelivery(device?.id ?? "");
  await maintainOutbox(ctx());
  await maintainOutbox(ctx());
  const { push, sent } = recordingPush();
  await deliverDue({ push });
  expect(sent).toMatchObject([{ id: old.id, token: device?.token, payload: { aps: { alert: { title: "Old" } } } }]);
  expect(await ctx().db.pushDelivery.count()).toBe(0);
  expect(await deliveriesOf({ eventKey: old.eventKey })).toMatchObject([{ state: "sent", attempts: 1 }]);
});

test("what an instance of version 1.0 is sending stays with it until its lease expires", async () => {
  const [device] = await activeDevices(await newAccount(), 1);
  const leaseUntil = new Date(ctx().now().getTime() + MINUTE_MS);
  const { eventKey } = await insertOldDelivery(device?.id ?? "", { state: "sending", leaseUntil });
  await maintainOutbox(ctx());
  expect(await deliveriesOf({ eventKey })).toEqual([]);
  clock.advance(2 * MINUTE_MS);
  await maintainOutbox(ctx());
  expect(await deliveriesOf({ eventKey })).toMatchObject([{ state: "queued", attempts: 1 }]);
});

test("an event that version 1.0 has sent is not sent again, before its row is moved and after", async () => {
  const account = await newAccount();
  const [device] = await activeDevices(account, 1);
  const { eventKey } = await insertOldDelivery(device?.id ?? "", { state: "sent", sentAt: ctx().now() });
  const enqueueAgain = () =>
    ctx().db.$transaction((tx) =>
      enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId: account.id }, message: words }),
    );
  expect(await enqueueAgain()).toBe(0);
  await maintainOutbox(ctx());
  expect(await deliveriesOf({ eventKey })).toMatchObject([{ state: "sent", deviceId: device?.id }]);
  expect(await enqueueAgain()).toBe(0);
});

test("the devices of an announcement of version 1.0 share one message", async () => {
  const devices = await activeDevices(await newAccount(), 3);
  const eventKey = `version:${randomUUID()}`;
  for (const { id } of devices) await insertOldDelivery(id, { eventKey, kind: "app.new_version", priority: 5 });
  await maintainOutbox(ctx());
  expect(await ctx().db.pushMessage.findMany({ where: { eventKey } })).toMatchObject([{ accountId: null }]);
  expect(await deliveriesOf({ eventKey })).toHaveLength(3);
});
