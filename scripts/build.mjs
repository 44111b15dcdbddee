import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import nextConfig from "../next.config.mjs";
import { isBuilt, requireBuildPackages, writeFingerprint } from "./build/fingerprint.mjs";
import { queryCompilerFile } from "./build/query-compiler.mjs";

const BUNDLES = ".next/bin";
/**
 * The processes, what scripts/start.mjs loads before the server, the commands that work without the packages that build
 * (scripts/run.mjs runs them), and what the build runs itself.
 */
const ENTRY_POINTS = [
  "server.ts",
  "worker.ts",
  "lib/cluster/supervisor.ts",
  "lib/db/embedded/pglite-code.ts",
  "scripts/db-migrate.ts",
  "scripts/homeport/homeport.ts",
  "scripts/build/database-template.ts",
];
/**
 * Loaded from node_modules: what Next does not bundle either, so that the pages and the server share its classes, the
 * list of common passwords, which the first password loads, and CommonJS packages that few commands load.
 * All other packages are bundled, because Node takes longer to find their files than to run them.
 */
const EXTERNAL = [
  "@prisma/client",
  "@zxcvbn-ts/language-common",
  "commander",
  "next",
  "pg-copy-streams",
  "yaml",
  "yauzl",
  ...nextConfig.serverExternalPackages,
];

// Builds if there is no build of the sources as they are; with --force always.
if (process.argv.includes("--force") || !isBuilt()) {
  requireBuildPackages();
  await import("./generate.mjs");
  run("node_modules/.bin/next", "build"); // what `next start` needs, of which the service uses the pages
  await bundle();
  run(process.execPath, `${BUNDLES}/database-template.mjs`);
  writeFingerprint();
}

/** Runs a program of the build. Ends the process if it fails. */
function run(program, ...args) {
  const { status } = spawnSync(program, args, {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}

async function bundle() {
  rmSync(BUNDLES, { recursive: true, force: true });
  mkdirSync(BUNDLES, { recursive: true });
  const { build } = await import("esbuild");
  await build({
    entryPoints: ENTRY_POINTS,
    outdir: BUNDLES,
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    external: EXTERNAL,
    plugins: [queryCompilerFile],
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    logLevel: "warning",
  });
}
