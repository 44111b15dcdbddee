import { MAX_COUNTED } from "@/lib/platform/lists";

const COUNT = new Intl.NumberFormat("en");
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** A count, such as "12,345". */
export function formatCount(count: number | bigint): string {
  return COUNT.format(count);
}

/** A share from 0 to 1, such as "12.5%". */
export function formatShare(share: number): string {
  return SHARE.format(share);
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A short count, such as "12.3K". */
export function formatCompact(count: number): string {
  return COMPACT.format(count);
}

/** A count that was stopped at 1,000, such as "1,000+". */
export function formatBounded(count: number, max = MAX_COUNTED): string {
  return count >= max ? `${formatCount(max)}+` : formatCount(count);
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

const UNITS = ["bytes", "kB", "MB", "GB"] as const;
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** "104.9 MB". Decimal units, as file managers of macOS and Linux show them. */
export function formatSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${NUMBER.format(bytes / 1000 ** power)} ${UNITS[power]}`;
}
