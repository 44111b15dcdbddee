import { z } from "zod";

export const Platform = z.enum(["windows", "macos", "linux"]);
export type Platform = z.infer<typeof Platform>;

const PLATFORM_ALIASES: Readonly<Record<Platform, readonly string[]>> = {
  windows: ["win32", "win64", "win"],
  macos: ["darwin", "mac", "osx", "macosx"],
  linux: ["linux64"],
};

/** Velopack's names of the systems, which are also those of its default channels. */
export const VELOPACK_SYSTEMS: Readonly<Record<Platform, string>> = { windows: "win", macos: "osx", linux: "linux" };

/** Parses a platform's name or alias, case-insensitively: `win32`, `Darwin`. Returns undefined for an unknown one. */
export function parsePlatform(name: string): Platform | undefined {
  const own = name.toLowerCase();
  return Platform.options.find((platform) => platform === own || PLATFORM_ALIASES[platform].includes(own));
}

/** The platform that Velopack calls by a name, case-insensitively. */
export function parseVelopackSystem(name: string): Platform | undefined {
  return Platform.options.find((platform) => VELOPACK_SYSTEMS[platform] === name.toLowerCase());
}

/** What others call an architecture. Debian names it in packages, and the last three number it in the headers of programs. */
type Names = {
  /** Of compilers, Node.js and Tauri, which clients and catalogs may use. */
  aliases?: readonly string[];
  tauri?: string;
  winget?: string;
  debian?: string;
  elf?: number;
  /** Not for i386: installers for every architecture and programs of .NET have it. */
  pe?: number;
  machO?: number;
};

const X64 = { tauri: "x86_64", winget: "x64", debian: "amd64", elf: 0x3e, pe: 0x8664, machO: 0x01000007 };
const ARM64 = { tauri: "aarch64", winget: "arm64", debian: "arm64", elf: 0xb7, pe: 0xaa64, machO: 0x0100000c };
/** The order is that of Tauri's and winget's files. */
const ARCHITECTURES: Readonly<Record<string, Names>> = {
  x64: { aliases: ["x86_64", "x86-64", "amd64"], ...X64 },
  arm64: { aliases: ["aarch64"], ...ARM64 },
  ia32: { aliases: ["x86", "386", "i386", "i686"], tauri: "i686", winget: "x86", debian: "i386", elf: 0x03 },
  armv7: { tauri: "armv7" },
  armv7l: { debian: "armhf", elf: 0x28 },
  universal: { aliases: ["universal2"] },
};

/** The architectures that every catalog accepts. Releases with others make those known. */
export const BUILT_IN_ARCHITECTURES = ["x64", "arm64", "universal"];

/** The build for a client or a person that names no architecture. */
export const DEFAULT_ARCHITECTURES: Record<Platform, string> = { windows: "x64", macos: "universal", linux: "x64" };

/** The builds that an app may be of whose updater names no architecture. A universal build counts as x64 on macOS. */
export const COMMON_BUILDS: Readonly<Record<Platform, readonly string[]>> = {
  windows: ["x64", "ia32", "arm64"],
  macos: ["x64", "arm64"],
  linux: ["x64", "arm64"],
};

/** The builds that run on a system, its own first; on macOS with Rosetta. Others run their own alone. */
export const RUNS_ON: Readonly<Record<Platform, Readonly<Record<string, readonly string[]>>>> = {
  windows: { x64: ["x64", "ia32"], ia32: ["ia32"], arm64: ["arm64", "x64", "ia32"] },
  macos: { x64: ["x64"], arm64: ["arm64", "x64"] },
  linux: {},
};

/** What `/api/version` offers besides the own build. A universal build is native, so a newer one wins over the own build. */
export const FALLBACKS: ReadonlyMap<string, { architecture: string; winsIfNewer: boolean }> = new Map([
  ["macos/x64", { architecture: "universal", winsIfNewer: true }],
  ["macos/arm64", { architecture: "universal", winsIfNewer: true }],
  ["windows/arm64", { architecture: "x64", winsIfNewer: false }],
]);

/** Whether builds of two architectures run on the same computers. A universal build is for every architecture. */
export function shareComputers(a: string, b: string): boolean {
  return a === b || a === "universal" || b === "universal";
}

const BY_ALIAS = new Map(
  Object.entries(ARCHITECTURES).flatMap(([name, { aliases = [] }]) => aliases.map((alias) => [alias, name] as const)),
);

/** Maps an architecture's name or alias to the canonical name, case-insensitively: `X86_64` becomes `x64`. */
export function normalizeArchitecture(name: string): string {
  return BY_ALIAS.get(name.toLowerCase()) ?? name.toLowerCase();
}

/** The architectures that a format knows, with their names in it. */
export function architecturesIn(format: "tauri" | "winget"): ReadonlyMap<string, string> {
  return new Map(Object.entries(ARCHITECTURES).flatMap(([name, { [format]: own }]) => (own ? [[name, own]] : [])));
}

/** The architecture that a package or the header of a program names; undefined for an unknown one. */
export function architectureOf(format: "debian" | "elf" | "pe" | "machO", own: string | number): string | undefined {
  return Object.keys(ARCHITECTURES).find((name) => ARCHITECTURES[name]?.[format] === own);
}

/** The words that mean an architecture in the name of a file. A number alone may be part of a version. */
export function wordsFor(name: string): string[] {
  const { aliases = [], debian = name } = ARCHITECTURES[name] ?? {};
  return [...new Set([...aliases, debian, name])].filter((word) => /^[a-z]/.test(word));
}

/** Not armv7: the header of a program with that name says armv7l. */
const WORDS = Object.keys(ARCHITECTURES).flatMap((name) => (name === "armv7" ? [] : wordsFor(name)));
const IN_FILE_NAME = new RegExp(`(?:^|[-_. ])(${WORDS.join("|")})(?=[-_. ]|$)`, "gi");

/** The last architecture in a file's name after `appName`, which may contain the word. Undefined without any. */
export function architectureIn(fileName: string, appName = ""): string | undefined {
  const rest = appName && fileName.startsWith(appName) ? fileName.slice(appName.length) : fileName;
  const last = [...rest.matchAll(IN_FILE_NAME)].at(-1)?.[1];
  return last && normalizeArchitecture(last);
}

/** A version of macOS or Windows, or a build version: numbers separated by dots. */
export const SystemVersion = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+)*$/, "Must be numbers separated by dots");

/** Compares two system versions as `Array.prototype.sort` expects. Missing numbers count as 0. */
export function compareSystemVersions(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [a.split("."), b.split(".")];
  for (let i = 0; i < left.length || i < right.length; i++) {
    const difference = Number(left[i] ?? 0) - Number(right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
