import type { InstallerGroup } from "@/lib/releases/installers";
import { type Platform, RUNS_ON } from "@/lib/releases/platforms";

/** The platforms' own names. */
export const PLATFORM_NAMES: Record<Platform, string> = { windows: "Windows", macos: "macOS", linux: "Linux" };
/** Apple's names of the architectures. */
const MAC_NAMES: Record<string, string> = { arm64: "Apple silicon", x64: "Intel" };

/**
 * The builds that run on a visitor's computer, best first: Windows on Arm and macOS on Apple silicon also run those for x64,
 * not the reverse. A User-Agent tells neither Windows on Arm nor Apple silicon.
 */
function buildsFor(platform: Platform, architecture: "x64" | "arm64" | "ia32"): readonly string[] {
  const [own = architecture, ...others] = RUNS_ON[platform][architecture] ?? [];
  return architecture === "ia32" ? [own] : [own, "universal", ...others];
}

/** A visitor's computer. `builds` null: macOS, of which the browser does not say whether it is on Intel or Apple silicon. */
export type Computer = { platform: Platform; builds: readonly string[] | null };

/**
 * The computer that a browser runs on, by its User-Agent and its `Sec-CH-UA-Arch` (W3C, User-Agent Client Hints); null for a
 * platform without releases.
 */
export function computerOf({ get }: { get: (name: string) => string | null }): Computer | null {
  const userAgent = get("user-agent") ?? "";
  const platform = platformFromUserAgent(userAgent);
  if (platform === null) return null;
  const hint = /^"(arm|x86)"$/.exec(get("sec-ch-ua-arch") ?? "")?.[1];
  if (platform === "macos" && hint === undefined) return { platform, builds: null };
  const isArm = hint === "arm" || (hint === undefined && /aarch64|arm64/i.test(userAgent));
  const is32Bit = platform === "windows" ? !/Win64|WOW64|x64/.test(userAgent) : /i[3-6]86/.test(userAgent);
  return { platform, builds: buildsFor(platform, isArm ? "arm64" : is32Bit && hint === undefined ? "ia32" : "x64") };
}

/**
 * The installers of a product to offer to a computer: the one that runs best, or on macOS, where that is not known, the
 * universal one or all. `isSure`: it runs there.
 */
export function offeredTo(
  computer: Computer | null,
  groups: InstallerGroup[],
): { groups: InstallerGroup[]; isSure: boolean } {
  const own = groups.filter(({ platform, latest }) => platform === computer?.platform && latest !== null);
  const builds = computer?.builds ?? ["universal"];
  const [best] = builds.flatMap((build) => own.filter(({ architecture }) => architecture === build));
  if (best) return { groups: [best], isSure: true };
  return { groups: computer?.builds === null ? own : [], isSure: false };
}

/** "Windows (x64)", "macOS (Apple silicon)". */
export function buildName({ platform, architecture }: Pick<InstallerGroup, "platform" | "architecture">): string {
  const name = platform === "macos" ? (MAC_NAMES[architecture] ?? architecture) : architecture;
  return `${PLATFORM_NAMES[platform]} (${name})`;
}

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
