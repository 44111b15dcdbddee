import type { Platform } from "@/lib/releases/schema";

/** The platform of a browser's User-Agent; null for platforms without releases. */
export function platformFromUserAgent(userAgent: string): Platform | null {
  if (/iPhone|iPad|Android/.test(userAgent)) return null;
  if (/Windows/.test(userAgent)) return "windows";
  if (/Macintosh|Mac OS X/.test(userAgent)) return "macos";
  return /Linux/.test(userAgent) ? "linux" : null;
}
