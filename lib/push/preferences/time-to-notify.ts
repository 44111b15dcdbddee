import { sql } from "../../platform/db/sql";
import { OPTIONAL_KINDS } from "../notifications";
import { endOfQuietHours } from "./quiet-hours";

/** What decides whether and when a device is notified. All but the time zone are null if the account has no preferences. */
export type DevicePreferences = {
  timeZone: string | null;
  mutedKinds: string[] | null;
  quietStartMinutes: number | null;
  quietEndMinutes: number | null;
};

/** The columns of `DevicePreferences`, in a statement with `joinPreferences`. */
export const PREFERENCE_COLUMNS = sql`device."timeZone", preference."mutedKinds", preference."quietStartMinutes",
  preference."quietEndMinutes"`;

/** Joins the preferences of the account to which each row of `device` belongs. */
export const joinPreferences = sql`LEFT JOIN "PushPreference" AS preference
  ON preference."accountId" = device."accountId"`;

/**
 * Returns when a device is notified of what is due at `dueAt`: then, or at the end of its quiet hours. null: its owner has
 * turned the kind off.
 */
export function timeToNotify(kind: string, dueAt: Date, device: DevicePreferences): Date | null {
  if (!OPTIONAL_KINDS.includes(kind)) return dueAt;
  const { mutedKinds, quietStartMinutes: startMinutes, quietEndMinutes: endMinutes } = device;
  if (mutedKinds?.includes(kind)) return null;
  if (startMinutes === null || endMinutes === null) return dueAt;
  return endOfQuietHours(dueAt, device.timeZone, { startMinutes, endMinutes });
}
