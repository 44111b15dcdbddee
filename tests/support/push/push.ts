import { randomBytes, randomUUID } from "node:crypto";
import type { Context } from "@/lib/context";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { deliveriesOf } from "./deliveries";

type DeviceRow = Awaited<ReturnType<Context["db"]["pushDevice"]["findUniqueOrThrow"]>>;
type Push = NonNullable<Context["push"]>;
type ApnsResult = Awaited<ReturnType<Push["send"]>>;
type Sent = Omit<Parameters<Push["send"]>[0], "body"> & { payload: Record<string, unknown> };
type Registered = {
  device: Record<string, unknown> & { id: string; status: string };
  challenge?: { id: string; value: string; expiresAt: string };
};

export const BUNDLE_ID = "com.example.homeport";

/** An unused device token. */
export const newToken = (sizeBytes = 32): string => randomBytes(sizeBytes).toString("hex");

/** Calls the registration route with a bearer token, and delivers the challenge. */
export async function registerPush(account: Pick<TestAccount, "token">, json: unknown): Promise<Response> {
  await clearOutbox();
  const response = await post("/api/push/register", json, { token: account.token });
  await deliverDue();
  return response;
}

/** Sends one batch of due deliveries, as the worker does, with the test's context unless overridden. */
export async function deliverDue(changed: Partial<SenderDeps> = {}): Promise<void> {
  const sender = createSender({ ...(ctx() as SenderDeps), ...changed });
  await sender.claimAndSend();
  await sender.finish();
}

/** Queues one notification for each of `devices` new devices of an account. */
export async function queueFor(devices: number, changed: Omit<Partial<DeviceRow>, "webPushKeys"> = {}) {
  const account = await newAccount();
  const owned = await activeDevices(account, devices, changed);
  const eventKey = `test:${randomUUID()}`;
  const message = { kind: "custom", title: "A title", body: "A body", link: null } as const;
  await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), { eventKey, to: { accountId: account.id }, message }));
  const rows = async () => (await deliveriesOf({ eventKey })).toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1));
  return { account, devices: owned.toSorted((a, b) => (a.id < b.id ? -1 : 1)), rows };
}

/** Cancels the deliveries of earlier tests and ends pauses. */
export async function clearOutbox(): Promise<void> {
  const { db, dbNow } = ctx();
  await db.pushPause.deleteMany();
  await db.$executeRaw`
    WITH ended AS (DELETE FROM "QueuedPush" RETURNING *)
    INSERT INTO "PushReceipt" ("messageId", "deviceId", "id", "endedAt", "expiresAt", "state", "attempts", "reason")
    SELECT "messageId", "deviceId", "id", ${dbNow()}, "expiresAt", 'cancelled', "attempts", "reason" FROM ended`;
}

/** Registers a device and returns the response. @throws Error unless it is a success */
export async function registeredDevice(account: TestAccount, json: Record<string, unknown> = {}): Promise<Registered> {
  const response = await registerPush(account, { token: newToken(), ...json });
  if (!response.ok) throw new Error(`register answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Registered;
}

/** Inserts pending devices, one per token. */
export async function insertDevices(account: TestAccount, tokens: string[]): Promise<void> {
  const now = ctx().now();
  await ctx().db.pushDevice.createMany({
    data: tokens.map((token) => ({
      accountId: account.id,
      environment: "production" as const,
      bundleId: BUNDLE_ID,
      token,
      createdAt: now,
      registeredAt: now,
      lastSeenAt: now,
    })),
  });
}

/** Inserts active devices. */
export async function activeDevices(
  account: TestAccount,
  count: number,
  changed: Omit<Partial<DeviceRow>, "webPushKeys"> = {},
) {
  const now = ctx().now();
  return ctx().db.pushDevice.createManyAndReturn({
    data: Array.from({ length: count }, () => ({
      accountId: account.id,
      environment: "production" as const,
      bundleId: BUNDLE_ID,
      token: newToken(),
      createdAt: now,
      registeredAt: now,
      lastSeenAt: now,
      verifiedAt: now,
      status: "active" as const,
      ...changed,
    })),
  });
}

/** A new account and its active devices. */
export async function accountWithDevices(
  ...given: Parameters<typeof activeDevices> extends [unknown, ...infer Rest] ? Rest : never
) {
  const account = await newAccount();
  const devices = await activeDevices(account, ...given);
  return [account, ...devices] as [TestAccount, ...typeof devices];
}

/** A device as it is stored. */
export const deviceRow = (id: string) => ctx().db.pushDevice.findUniqueOrThrow({ where: { id } });

/** An account's devices as they are stored. */
export const deviceRowsOf = ({ id }: { id: string }) => ctx().db.pushDevice.findMany({ where: { accountId: id } });

/** Activates a device, as evidence does. */
export async function activate(deviceId: string): Promise<void> {
  await ctx().db.pushDevice.update({
    where: { id: deviceId },
    data: { status: "active", verifiedAt: ctx().now(), keyId: "key", publicKey: Buffer.from("key"), keyCounter: 1 },
  });
}

/** Registers a device of a new account's, and activates it. */
export async function activatedDevice(json: Record<string, unknown> = {}) {
  const account = await newAccount();
  const { device } = await registeredDevice(account, json);
  await activate(device.id);
  return { account, device };
}

/** Sends one batch of due deliveries, and returns the notifications. */
export async function sendDue() {
  const { push, sent } = recordingPush();
  await deliverDue({ push });
  return sent;
}

/** A database whose `$executeRaw` waits for `before`, which may reject in its place. */
export const withStatements = (before: (sql: string) => unknown) =>
  new Proxy(ctx().db, {
    get: (db, name, receiver) =>
      name !== "$executeRaw"
        ? Reflect.get(db, name, receiver)
        : async (parts: TemplateStringsArray, ...values: unknown[]) => {
            await before(parts.join());
            return db.$executeRaw(parts, ...values);
          },
  }) as Context["db"];

/** A transport that records notifications and responds with `respond`. */
export function recordingPush(respond: Push["send"] = async () => ({ status: 200, reason: null })) {
  const sent: Sent[] = [];
  const push: Push = {
    mode: "files",
    send: (notification) => {
      const { body, ...others } = notification;
      sent.push({ ...others, payload: JSON.parse(body) });
      return respond(notification);
    },
    close: () => {},
  };
  return { push, sent };
}

/** A transport whose responses wait until `letGo` is called. */
export function heldPush(response: ApnsResult = { status: 200, reason: null }) {
  let letGo = () => {};
  const gate = new Promise<ApnsResult>((resolve) => {
    letGo = () => resolve(response);
  });
  return { ...recordingPush(() => gate), letGo: () => letGo() };
}
