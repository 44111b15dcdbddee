import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import type { Prisma, PushDevice } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import type { RegisterDevice } from "../schema";

/** The devices of an account. As many again may wait to prove that they replace one of them. */
export const MAX_DEVICES = 20;

/** What APNs delivers to: a token is only valid in one environment and for one bundle ID. */
type PushTarget = Pick<PushDevice, "environment" | "bundleId" | "token">;
type KnownDevice = PushTarget & Pick<PushDevice, "id" | "installationId" | "status">;

/** A registration with its defaults filled in. */
export type Registration = RegisterDevice & PushTarget;

/**
 * How to apply a registration. `refresh`: the device is active and stays active. `challenge`: the device has to provide
 * evidence; `isKeyKept` allows its known key, and `replacedDeviceId` is the row that had its new target. An active device
 * does not change before the evidence.
 */
export type RegistrationPlan =
  | { step: "create" }
  | { step: "refresh"; device: KnownDevice }
  | {
      step: "challenge";
      device: KnownDevice;
      isTargetNew: boolean;
      isKeyKept: boolean;
      replacedDeviceId: string | null;
    };

/** Fills in the default bundle ID. @throws AppError validation_failed, if the bundle ID is not configured */
export function completeRegistration(bundleIds: readonly string[], given: RegisterDevice): Registration {
  const bundleId = given.bundleId ?? bundleIds[0];
  if (bundleId !== undefined && bundleIds.includes(bundleId)) return { ...given, bundleId };
  const detail = `Must be one of: ${bundleIds.join(", ")}`;
  throw new AppError("validation_failed", { errors: [{ pointer: "/bundleId", code: "invalid_value", detail }] });
}

/**
 * Finds the device that registers: the active one with the same target, else one with the same installation id that is
 * not active, else the one with the same target. An active device whose installation registers another token keeps its
 * row, since a restored backup copies the id to another phone. The new token gets its own row, even beyond the limit.
 * @throws AppError device_limit_reached
 */
export function planRegistration(devices: readonly KnownDevice[], registration: Registration): RegistrationPlan {
  const sameTarget = devices.find((row) => isSameTarget(row, registration));
  if (sameTarget?.status === "active") return { step: "refresh", device: sameTarget };
  const sameInstallation = devices.filter(
    ({ installationId }) => installationId !== null && installationId === registration.installationId,
  );
  const device = sameInstallation.find(({ status }) => status !== "active") ?? sameTarget;
  if (!device) {
    if (devices.length < (sameInstallation.length > 0 ? 2 : 1) * MAX_DEVICES) return { step: "create" };
    throw deviceLimitReached();
  }
  return {
    step: "challenge",
    device,
    isTargetNew: !isSameTarget(device, registration),
    isKeyKept: isSameApp(device, registration),
    replacedDeviceId: sameTarget && sameTarget.id !== device.id ? sameTarget.id : null,
  };
}

export function deviceLimitReached(): AppError {
  return new AppError("device_limit_reached", { detail: `An account can have at most ${MAX_DEVICES} devices.` });
}

function isSameTarget(device: PushTarget, registration: PushTarget): boolean {
  return isSameApp(device, registration) && device.token === registration.token;
}

/** A key is only valid for one app in one environment. */
function isSameApp(device: PushTarget, { environment, bundleId }: PushTarget): boolean {
  return device.environment === environment && device.bundleId === bundleId;
}

/** A registration and the account and session that it belongs to. */
export type OwnedRegistration = { owner: Owner; registration: Registration };

/** Identifies a device: an account has one row for what APNs delivers to. */
export function deviceKey(accountId: string, { environment, bundleId, token }: PushTarget): string {
  return `${accountId} ${environment} ${bundleId} ${token}`;
}

/** The columns of a registration. Fields that it omits are undefined. */
export function columnsOf({ token, environment, bundleId, installationId, device }: Registration) {
  return { token, environment, bundleId, installationId, ...device };
}

/**
 * Returns registrations as SQL: a relation of one statement for many. Each row has the columns of its registration, its
 * owner's ids, and those that `added` declares.
 */
export function registrationRows(
  rows: readonly (OwnedRegistration & { added?: Record<string, unknown> })[],
  added: Prisma.Sql = empty,
): Prisma.Sql {
  const values = rows.map(({ owner: { account, session }, registration, added }) => {
    return { ...columnsOf(registration), accountId: account.id, sessionId: session.id, ...added };
  });
  return sql`json_to_recordset(${JSON.stringify(values)}::json) AS given ("accountId" uuid, "sessionId" uuid,
    "installationId" uuid, "environment" "PushEnvironment", "bundleId" text, "token" text, "name" text, "model" text,
    "osVersion" text, "appVersion" text, "locale" text, "timeZone" text ${added})`;
}

/** The account and session that a device belongs to. */
export type Owner = { account: { id: string }; session: { id: string } };

/**
 * Serializes the registrations of an account, so that its devices can be counted, and keeps the session from ending
 * before the device that ends with it exists. Returns the database's time.
 * @throws AppError unauthenticated, if the session has ended
 */
export async function lockOwner(tx: Tx, { dbNow }: Pick<Context, "dbNow">, { account, session }: Owner): Promise<Date> {
  const [locked] = await tx.$queryRaw<{ now: Date }[]>`
    SELECT ${dbNow()} AS "now" FROM "Account" AS account JOIN "Session" AS session ON session."accountId" = account."id"
    WHERE account."id" = ${account.id}::uuid AND session."id" = ${session.id}::uuid AND session."revokedAt" IS NULL
    FOR NO KEY UPDATE OF account FOR SHARE OF session`;
  if (!locked) throw new AppError("unauthenticated");
  return locked.now;
}
