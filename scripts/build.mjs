import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { isBuilt, markBuilt, requireBuildPackages } from "./build/mark.mjs";

const BUNDLES = ".next/bin";
/** The processes, and the commands that work without the packages that build: scripts/run.mjs runs them. */
const ENTRY_POINTS = [
  ...["server.ts", "worker.ts"],
  ...["accounts", "billing", "db-migrate", "push", "release"].map((command) => `scripts/admin/${command}.ts`),
];

// Builds if there is no build of the sources as they are; with --force always.
if (process.argv.includes("--force") || !isBuilt()) {
  requireBuildPackages();
  await import("./generate.mjs");
  buildPages();
  await bundle();
  markBuilt();
}

/** What `next start` needs, of which the service uses the pages. */
function buildPages() {
  const { status } = spawnSync("node_modules/.bin/next", ["build"], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}

async function bundle() {
  rmSync(BUNDLES, { recursive: true, force: true });
  const { build } = await import("esbuild");
  await build({
    entryPoints: ENTRY_POINTS,
    outdir: BUNDLES,
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    logLevel: "warning",
  });
}
