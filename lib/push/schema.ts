import { z } from "zod";
import type { PushDevice } from "../db/generated/client";
import { Evidence } from "./evidence/schema";

const TOKEN_SUFFIX_LENGTH = 4;

const words = (most: number) => z.string().trim().min(1).max(most).optional();
const time = z.date().nullable();

/** What an app says of itself; members that it leaves out keep what it said before. */
export const RegisterDevice = z.object({
  token: z
    .string()
    .toLowerCase()
    .regex(/^(?:[0-9a-f]{2}){32,256}$/, "Must be 64 to 512 hexadecimal digits, two a byte")
    .describe("What APNs gave the app, in hexadecimal."),
  installationId: z.uuid().toLowerCase().optional().describe("Keeps a device one device when its token changes."),
  environment: z.enum(["production", "sandbox"]).default("production").describe("APNs' environment."),
  bundleId: z.string().max(255).optional().describe("One of the service's apps; its first where none is named."),
  device: z
    .object({
      name: words(64),
      model: words(64),
      osVersion: words(32),
      appVersion: words(32),
      locale: words(35),
      timeZone: words(64),
    })
    .default({}),
  evidence: Evidence.optional().describe("The answer to a challenge."),
});
export type RegisterDevice = z.infer<typeof RegisterDevice>;

export const Device = z.object({
  id: z.uuid(),
  status: z.enum(["pending", "active", "invalid"]),
  environment: z.enum(["production", "sandbox"]),
  bundleId: z.string(),
  name: z.string().nullable(),
  model: z.string().nullable(),
  osVersion: z.string().nullable(),
  appVersion: z.string().nullable(),
  locale: z.string().nullable(),
  tokenSuffix: z.string().length(TOKEN_SUFFIX_LENGTH),
  createdAt: z.date(),
  verifiedAt: time,
  lastSeenAt: z.date(),
  lastDeliveredAt: time,
  invalidReason: z.string().nullable(),
  pendingReason: z
    .string()
    .nullable()
    .describe(
      "Why the last challenge did not reach the device: APNs's reason, `unreachable`, `timeout`, `paused`, `expired`.",
    ),
  current: z.boolean().describe("Whether the session that asks registered it."),
});
export type Device = z.infer<typeof Device>;

export const Challenge = z.object({ id: z.uuid(), value: z.string(), expiresAt: z.date() });
export type Challenge = z.infer<typeof Challenge>;

export const RegisteredDevice = z.object({ device: Device });
export const PendingDevice = z.object({ device: Device, challenge: Challenge });
export const Devices = z.object({ devices: z.array(Device) });
export const DeviceParams = z.object({ deviceId: z.string().describe("The `id` of a device.") });

/** The part of a token that may be shown: enough to tell one's devices apart. */
export function tokenSuffix(token: string): string {
  return token.slice(-TOKEN_SUFFIX_LENGTH);
}

/**
 * What its owner may see of a device. `current`: the session that asks registered it. `failure`: why its last challenge
 * has not reached it, where that is known.
 */
export function toDevice(row: PushDevice, sessionId: string, failure: string | null = null): Device {
  return {
    id: row.id,
    status: row.status,
    environment: row.environment,
    bundleId: row.bundleId,
    name: row.name,
    model: row.model,
    osVersion: row.osVersion,
    appVersion: row.appVersion,
    locale: row.locale,
    tokenSuffix: tokenSuffix(row.token),
    createdAt: row.createdAt,
    verifiedAt: row.verifiedAt,
    lastSeenAt: row.lastSeenAt,
    lastDeliveredAt: row.lastDeliveredAt,
    invalidReason: row.invalidReason,
    pendingReason: row.status === "pending" ? failure : null,
    current: row.sessionId === sessionId,
  };
}
