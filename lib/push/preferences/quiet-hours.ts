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
