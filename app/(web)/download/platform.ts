import type { Platform } from "@/lib/releases/schema";

/** The platforms' own names. */
export const PLATFORM_NAMES: Record<Platform, string> = { windows: "Windows", macos: "macOS", linux: "Linux" };

/** The platform of a browser's User-Agent; null for platforms without releases. */
export function platformFromUserAgent(userAgent: string): Platform | null {
  if (isPhone(userAgent)) return null;
  if (/Windows/.test(userAgent)) return "windows";
  if (/Macintosh|Mac OS X/.test(userAgent)) return "macos";
  return /Linux/.test(userAgent) ? "linux" : null;
}

/** Whether a browser's User-Agent is that of a phone or tablet. */
export function isPhone(userAgent: string): boolean {
  return /iPhone|iPad|Android/.test(userAgent);
}
