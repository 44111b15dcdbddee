import { MAX_COUNTED } from "@/lib/platform/lists";

const COUNT = new Intl.NumberFormat("en");
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** A count, such as "12,345". */
export const formatCount = (count: number | bigint): string => COUNT.format(count);

/** A share from 0 to 1, such as "12.5%". */
export const formatShare = (share: number): string => SHARE.format(share);

/** A short count, such as "12.3K". */
export const formatCompact = (count: number): string => COMPACT.format(count);

/** A day in UTC, such as "20 Nov". */
export const formatDay = (day: Date): string => DAY.format(day);

/** A count that was stopped at 1,000, such as "1,000+". */
export function formatBounded(count: number): string {
  return `${formatCount(Math.min(count, MAX_COUNTED))}${count >= MAX_COUNTED ? "+" : ""}`;
}

/** A count that was stopped at 1,000, with its noun: "1 event", "1,000+ events". */
export function countBounded(count: number, one: string, other: string): string {
  return `${formatBounded(count)} ${count === 1 ? one : other}`;
}

/** A duration in its largest unit, such as "3 min" or "2 h". */
export function formatDuration(given: number): string {
  const seconds = Math.max(0, given); // clocks differ
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

const SIZE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const UNITS = ["bytes", "kB", "MB", "GB"] as const;

/** "104.9 MB". Decimal units, as file managers of macOS and Linux show them. */
export function formatSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${SIZE.format(bytes / 1000 ** power)} ${UNITS[power]}`;
}
