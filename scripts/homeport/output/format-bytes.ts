/** Formats a size: 12.3 MB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const exponent = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${Number((bytes / 1000 ** exponent).toFixed(1))} ${units[exponent]}`;
}
