import { readFileSync } from "node:fs";

/** From package.json and the build. Null: not built, or built outside a checkout. */
export type Build = { name: string; version: string; commit: string | null; builtAt: string | null };

/** Reads package.json and what the build has written. */
export function readBuild(): Build {
  const { name, version } = JSON.parse(readFileSync("package.json", "utf8")) as { name: string; version: string };
  const written = ((): Partial<Build> => {
    try {
      return JSON.parse(readFileSync(".next/build.json", "utf8"));
    } catch {
      return {}; // not built
    }
  })();
  return { name, version, commit: written.commit ?? null, builtAt: written.builtAt ?? null };
}
