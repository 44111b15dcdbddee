const BROWSERS = [
  ["Edge", /\bEdg(A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /\b(Chrome|CriOS)\//],
  ["Safari", /\bSafari\//],
] as const;
const SYSTEMS = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["Linux", /\bLinux\b/],
] as const;

/** The name of a client that neither sent one nor has a user agent that is known. */
export const UNKNOWN_CLIENT = "another device";

/** The display name of a client: the name that it sent, or the browser and system that its user agent names. */
export function clientName(deviceName: string | null, userAgent: string | null): string {
  if (deviceName !== null) return deviceName;
  const parts = [BROWSERS, SYSTEMS].map((known) => known.find(([, sign]) => sign.test(userAgent ?? ""))?.[0]);
  return parts.filter((part) => part !== undefined).join(", ") || UNKNOWN_CLIENT;
}
