const UNITS = ["bytes", "kB", "MB", "GB"] as const;
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** "104.9 MB". Decimal units, as file managers of macOS and Linux show them. */
export function formatSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${NUMBER.format(bytes / 1000 ** power)} ${UNITS[power]}`;
}
