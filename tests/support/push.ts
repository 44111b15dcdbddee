import { randomBytes } from "node:crypto";
import type { Context } from "@/lib/context";
import { openSender } from "@/lib/push/worker/sender";
import type { TestAccount } from "./accounts";
import { post } from "./api";
import { ctx } from "./context";

type DeviceRow = Awaited<ReturnType<Context["db"]["pushDevice"]["findUniqueOrThrow"]>>;
type Push = NonNullable<Context["push"]>;
type Sent = Parameters<Push["send"]>[0];
type Registered = {
  device: Record<string, unknown> & { id: string; status: string };
  challenge?: { id: string; value: string; expiresAt: string };
};

export const BUNDLE_ID = "com.example.homeport";

/** A device token that nobody has yet. */
export const newToken = (sizeBytes = 32): string => randomBytes(sizeBytes).toString("hex");

/** Calls the registration route with a bearer token, and has what comes of it sent. */
export async function registerPush(account: Pick<TestAccount, "token">, json: unknown): Promise<Response> {
  await setQueueAside();
  const response = await post("/api/push/register", json, { token: account.token });
  await deliverDue();
  return response;
}

/** Sends what is due, as the worker does, through the context's transport unless another is given. */
export async function deliverDue(push = ctx().push): Promise<void> {
  if (!push) return;
  const sender = openSender({ ...ctx(), push });
  await sender.take();
  await sender.finish();
}

/** Keeps what is in the outbox already from being sent by a test that it is not for. */
export async function setQueueAside(): Promise<void> {
  await ctx().db.pushDelivery.updateMany({
    where: { state: { in: ["queued", "sending"] } },
    data: { state: "cancelled", leaseUntil: null },
  });
}

/** Registers a device and returns what came of it; fails unless it was accepted. */
export async function registeredDevice(account: TestAccount, json: Record<string, unknown> = {}): Promise<Registered> {
  const response = await registerPush(account, { token: newToken(), ...json });
  if (!response.ok) throw new Error(`register answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Registered;
}

/** Puts devices straight into an account, one per token. */
export async function insertDevices(account: TestAccount, tokens: string[]): Promise<void> {
  const now = ctx().now();
  await ctx().db.pushDevice.createMany({
    data: tokens.map((token) => ({
      ...{ accountId: account.id, environment: "production" as const, bundleId: BUNDLE_ID, token },
      ...{ createdAt: now, registeredAt: now, lastSeenAt: now },
    })),
  });
}

/** New devices of an account that have proved themselves. */
export async function activeDevices(account: TestAccount, count: number, changed: Partial<DeviceRow> = {}) {
  const now = ctx().now();
  return ctx().db.pushDevice.createManyAndReturn({
    data: Array.from({ length: count }, () => ({
      ...{ accountId: account.id, environment: "production" as const, bundleId: BUNDLE_ID, token: newToken() },
      ...{ createdAt: now, registeredAt: now, lastSeenAt: now, verifiedAt: now, status: "active" as const, ...changed },
    })),
  });
}

/** Makes a device active, as evidence does. */
export async function activate(deviceId: string): Promise<void> {
  await ctx().db.pushDevice.update({
    where: { id: deviceId },
    data: { status: "active", verifiedAt: ctx().now(), keyId: "key", publicKey: Buffer.from("key"), keyCounter: 1 },
  });
}

/** A transport that keeps what it is given and answers as told. */
export function recordingPush(answer: Push["send"] = async () => ({ status: 200, reason: null })) {
  const sent: Sent[] = [];
  const push: Push = {
    mode: "development",
    send: (notification) => {
      sent.push(notification);
      return answer(notification);
    },
    close: () => {},
  };
  return { push, sent };
}
