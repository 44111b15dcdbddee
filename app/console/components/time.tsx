import { pageContext } from "@/lib/auth/visitor";
import { Dash } from "./cells";
import { LocalTime } from "./local-time";

const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const UNITS = { second: 60, minute: 60, hour: 24, day: 30 };

/** A time relative to now, such as "3 hours ago", with the exact one as its title, in UTC and in local time. A dash for no time. */
export function Ago({ at }: { at: Date | null | undefined }) {
  if (!at) return <Dash />;
  return <LocalTime at={at} text={relativeTime(at, pageContext().now())} utc={exactTime(at)} />;
}

/** A time to the second, such as "20 Nov 2026, 14:05:33 UTC", with the local one in its title. A dash for no time. */
export function ExactTime({ at }: { at: Date | null | undefined }) {
  if (!at) return <Dash />;
  return <LocalTime at={at} text={exactTime(at)} utc={exactTime(at)} />;
}

const exactTime = (at: Date) => `${EXACT.format(at)} UTC`;

/** "in 5 minutes", "yesterday", "3 days ago"; beyond a month, the date. */
function relativeTime(at: Date, now: Date): string {
  let amount = (at.getTime() - now.getTime()) / 1000;
  if (Math.abs(amount) < 5) return "now";
  for (const [unit, length] of Object.entries(UNITS)) {
    if (Math.abs(Math.round(amount)) < length) return RELATIVE.format(Math.round(amount), unit as keyof typeof UNITS);
    amount /= length;
  }
  return DAY.format(at);
}
