import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import "./generate.mjs";

const SOURCES = [
  ...["app", "lib", "public", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts", "next.config.ts"],
  ...["prisma/schema.prisma", "package.json", "package-lock.json"],
];
/** Written last: a build that was broken off has none. */
const MARK = ".next/build.json";

// Builds where the build is missing or older than the sources; always with --force.
if (process.argv.includes("--force") || !isFresh()) {
  const { status } = spawnSync("node_modules/.bin/next", ["build"], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
  const { build } = await import("esbuild");
  await build({
    entryPoints: { "front-door": "server.ts", worker: "worker.ts" },
    outdir: ".next",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    logLevel: "warning",
  });
  writeFileSync(MARK, `${JSON.stringify({ commit: commit(), builtAt: new Date().toISOString() })}\n`);
}

function isFresh() {
  if (!existsSync(MARK)) return false;
  const built = statSync(MARK).mtimeMs;
  return SOURCES.every((source) => newest(source) <= built);
}

/** The newest time of change of a file, or of anything in a folder. */
function newest(file) {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))));
}

/** The commit that is built; null outside a checkout. */
function commit() {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return null;
  }
}
