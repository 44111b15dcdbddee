import { randomBytes } from "node:crypto";
import type { Context } from "@/lib/context";
import type { TestAccount } from "./accounts";
import { post } from "./api";
import { ctx } from "./context";

type Push = NonNullable<Context["push"]>;
type Sent = Parameters<Push["send"]>[0];
type Registered = {
  device: Record<string, unknown> & { id: string; status: string };
  challenge?: { id: string; value: string; expiresAt: string };
};

export const BUNDLE_ID = "com.example.homeport";

/** A device token that nobody has yet. */
export const newToken = (sizeBytes = 32): string => randomBytes(sizeBytes).toString("hex");

/** Calls the registration route with a bearer token. */
export const registerPush = (account: Pick<TestAccount, "token">, json: unknown): Promise<Response> =>
  post("/api/push/register", json, { token: account.token });

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
  };
  return { push, sent };
}
