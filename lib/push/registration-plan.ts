import type { PushDevice } from "../db/generated/client";
import { AppError } from "../errors";
import type { RegisterDevice } from "./schema";

/** So many devices an account may have, and as many again that wait to prove that they take the place of one. */
export const MAX_DEVICES = 20;

/** Where APNs finds a device: a token means something only within an environment and a bundle. */
type PushTarget = Pick<PushDevice, "environment" | "bundleId" | "token">;
type KnownDevice = PushTarget & Pick<PushDevice, "id" | "installationId" | "status">;

/** A registration with everything that has a default filled in. */
export type Registration = RegisterDevice & PushTarget;

/**
 * What a registration comes to. `refresh`: the device is active and stays so. `challenge`: it has to prove
 * itself; `moved` says that its address is new, `keepsKey` that it may still answer with the key it is known by,
 * `obsolete` names the row that held this address until now. An active device is never changed before the proof.
 */
export type RegistrationPlan<Row extends KnownDevice> =
  | { step: "create" }
  | { step: "refresh"; device: Row }
  | { step: "challenge"; device: Row; isTargetNew: boolean; isKeyKept: boolean; replacedDeviceId: string | null };

/** Fills in the bundle. @throws AppError validation_failed for one that is not ours. */
export function completeRegistration(bundleIds: readonly string[], given: RegisterDevice): Registration {
  const bundleId = given.bundleId ?? bundleIds[0];
  if (bundleId !== undefined && bundleIds.includes(bundleId)) return { ...given, bundleId };
  const detail = `Must be one of: ${bundleIds.join(", ")}`;
  throw new AppError("validation_failed", { errors: [{ pointer: "/bundleId", code: "invalid_value", detail }] });
}

/**
 * Tells which of an account's devices registers: the active one at its address, else one with its installation id that
 * is not active, else the one at its address. The token of an active installation may have changed, or another phone
 * may have its id from a backup: only the proof can tell, so it gets a row of its own until then, beyond the limit too.
 * @throws AppError device_limit_reached for one device more than an account may have.
 */
export function planRegistration<Row extends KnownDevice>(
  devices: readonly Row[],
  wanted: Registration,
): RegistrationPlan<Row> {
  const addressed = devices.find((row) => isSameTarget(row, wanted));
  if (addressed?.status === "active") return { step: "refresh", device: addressed };
  const installed = devices.filter(
    (row) => row.installationId !== null && row.installationId === wanted.installationId,
  );
  const device = installed.find(({ status }) => status !== "active") ?? addressed;
  if (!device) {
    if (devices.length < (installed.length > 0 ? 2 : 1) * MAX_DEVICES) return { step: "create" };
    throw deviceLimitReached();
  }
  const moved = !isSameTarget(device, wanted);
  const obsolete = addressed && addressed.id !== device.id ? addressed.id : null;
  return {
    step: "challenge",
    device,
    isTargetNew: moved,
    isKeyKept: isSameApp(device, wanted),
    replacedDeviceId: obsolete,
  };
}

/** The error for one device more than an account may have. */
export function deviceLimitReached(): AppError {
  return new AppError("device_limit_reached", { detail: `At most ${MAX_DEVICES} devices an account.` });
}

function isSameTarget(device: PushTarget, wanted: PushTarget): boolean {
  return isSameApp(device, wanted) && device.token === wanted.token;
}

/** A key was proved for one app in one environment: it says nothing in another. */
function isSameApp(device: PushTarget, { environment, bundleId }: PushTarget): boolean {
  return device.environment === environment && device.bundleId === bundleId;
}
