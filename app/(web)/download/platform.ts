import type { Platform } from "@/lib/releases/schema";

/** The platform that a browser says it runs on; null for one that we have nothing for. */
export function platformOfAgent(userAgent: string): Platform | null {
  if (/iPhone|iPad|Android/.test(userAgent)) return null;
  if (/Windows/.test(userAgent)) return "windows";
  return /Macintosh|Mac OS X/.test(userAgent) ? "macos" : null;
}
