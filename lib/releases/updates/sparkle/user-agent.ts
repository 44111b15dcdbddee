import type { Platform } from "../../schema";

/** What a Sparkle client says about itself. `version` is what it has for people (CFBundleShortVersionString). */
export type SparkleClient = { platform: Platform; version: string };

const MAX_LENGTH = 512;
const USER_AGENT = /\/([^\s/]+) (Win)?Sparkle\/\d/;

/** Parses the User-Agent of Sparkle (`App/2.3.1 Sparkle/2.6.4`) and WinSparkle (`App/2.3.1 WinSparkle/0.9.3 (Win64)`). */
export function parseSparkleClient(userAgent: string | null): SparkleClient | undefined {
  if (userAgent === null || userAgent.length > MAX_LENGTH) return undefined;
  const [, version, win] = USER_AGENT.exec(userAgent) ?? [];
  return version === undefined ? undefined : { platform: win === undefined ? "macos" : "windows", version };
}
