import { sql } from "../platform/db/sql";
import { OPTIONAL_KINDS } from "./notifications";

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

/** SQL: whether the owner of the device of a row `queued` has turned its kind off. */
export const isTurnedOff = sql`EXISTS (
  SELECT 1 FROM "PushDevice" AS device JOIN "PushPreference" AS preference ON preference."accountId" = device."accountId"
  JOIN "PushMessage" AS message ON message."id" = queued."messageId"
  WHERE device."id" = queued."deviceId" AND message."kind" = ANY(preference."mutedKinds"))`;

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

/** Quiet hours, in minutes after midnight of a local time. An end before the start is on the next day. */
type QuietHours = { startMinutes: number; endMinutes: number };

const MINUTE_MS = 60 * 1000;
const DAY_MINUTES = 24 * 60;
/** A formatter takes kilobytes, and anybody may register a device in any time zone. */
const MAX_CACHED_ZONES = 200;

const clocks = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the end of the quiet hours that contain a time, by the clock of an IANA time zone. Returns the time itself if it
 * is outside the quiet hours or the zone is unknown. If the clock is put forward over the end, the quiet hours last as long
 * as without the change; if it is put back, they end when it first shows the end.
 */
export function endOfQuietHours(at: Date, timeZone: string | null, quiet: QuietHours): Date {
  const clock = clockOf(timeZone);
  if (!clock || !isQuiet(minutesOf(clock, at), quiet)) return at;
  const minute = Math.floor(at.getTime() / MINUTE_MS);
  const leftMinutes = modulo(quiet.endMinutes - minutesOf(clock, at), DAY_MINUTES);
  const end = new Date((minute + leftMinutes) * MINUTE_MS);
  // How far the clock was put forward or back in the meantime.
  const changeMinutes =
    modulo(minutesOf(clock, end) - quiet.endMinutes + DAY_MINUTES / 2, DAY_MINUTES) - DAY_MINUTES / 2;
  const corrected = new Date(end.getTime() - changeMinutes * MINUTE_MS);
  return isQuiet(minutesOf(clock, corrected), quiet) ? end : corrected;
}

function isQuiet(minutes: number, { startMinutes, endMinutes }: QuietHours): boolean {
  return modulo(minutes - startMinutes, DAY_MINUTES) < modulo(endMinutes - startMinutes, DAY_MINUTES);
}

/** Minutes after midnight that a clock shows. */
function minutesOf(clock: Intl.DateTimeFormat, at: Date): number {
  const [hours = 0, minutes = 0] = clock.format(at).split(":").map(Number);
  return 60 * hours + minutes;
}

/** null: there is no such zone. */
function clockOf(timeZone: string | null): Intl.DateTimeFormat | null {
  const key = timeZone?.toLowerCase();
  if (key === undefined) return null;
  try {
    const clock =
      clocks.get(key) ??
      new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: key });
    if (clocks.size >= MAX_CACHED_ZONES) clocks.clear();
    clocks.set(key, clock);
    return clock;
  } catch {
    return null;
  }
}

const modulo = (value: number, by: number) => ((value % by) + by) % by;
