import { wordsFor } from "@/lib/releases/platforms";

/** What a file is likely to be, by its name. */
export type Guess = { platform: string; architecture: string; kinds: string; version: string };

const PLATFORMS: readonly (readonly [RegExp, string])[] = [
  [/\.(exe|msi|msix|msixbundle|nupkg|appx)$/i, "windows"],
  [/\.(dmg|m?pkg)$/i, "macos"],
  [/\.(appimage|deb|rpm|pacman)$/i, "linux"],
  [/(mac|darwin|osx)/i, "macos"],
  [/linux/i, "linux"],
];

const patternFor = (architecture: string, ...words: string[]) =>
  [new RegExp([...wordsFor(architecture), ...words].join("|"), "i"), architecture] as const;
const ARCHITECTURES = [patternFor("arm64"), patternFor("x64", "win64"), patternFor("ia32"), patternFor("universal")];

const PRERELEASE = "(?:alpha|beta|rc|pre|preview|next|canary|nightly)";
const VERSION = new RegExp(`\\d+\\.\\d+\\.\\d+(?:-${PRERELEASE}(?:\\.?\\d+)*)?`, "i");

/**
 * Guesses what the files of a version are, for the operator to check. Of a platform and architecture, the first file for
 * people is the installer and the first one for updaters the update; the rest are other formats.
 */
export function guessTargets(fileNames: readonly string[]): Guess[] {
  const taken = new Set<string>();
  return fileNames.map((fileName) => {
    const { platform, architecture } = guessPlatform(fileName);
    const version = VERSION.exec(fileName)?.[0] ?? "";
    const free = kindsOf(fileName).filter((kind) => !taken.has(`${platform} ${architecture} ${kind}`));
    for (const kind of free) taken.add(`${platform} ${architecture} ${kind}`);
    const kinds = free.length === 2 ? "both" : (free[0] ?? "other");
    return { platform, architecture, version, kinds };
  });
}

function guessPlatform(fileName: string): Pick<Guess, "platform" | "architecture"> {
  const find = (list: typeof PLATFORMS) => list.find(([pattern]) => pattern.test(fileName))?.[1];
  const platform = find(PLATFORMS) ?? "windows";
  return { platform, architecture: find(ARCHITECTURES) ?? (platform === "macos" ? "universal" : "x64") };
}

function kindsOf(fileName: string): string[] {
  if (/\.(zip|nupkg|tar\.gz)$/i.test(fileName)) return ["update"];
  return /\.(dmg|m?pkg|msi|deb|rpm)$/i.test(fileName) ? ["installer"] : ["installer", "update"];
}
