import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { EXTERNAL_PACKAGES } from "./build/external-packages.mjs";
import { hashSources, isBuilt, requireBuildPackages, writeFingerprint } from "./build/fingerprint.mjs";
import { BUILD_MEMORY_MB, requireBuildMemory } from "./build/memory.mjs";
import { queryCompilerFile } from "./build/query-compiler.mjs";

const BUNDLES = ".next/bin";
/** lib/platform/tools.ts reads it. */
const TOOLS = ".next/install";
/**
 * The processes, what scripts/start.mjs loads before the server, the commands that work without the packages that build
 * (scripts/run.mjs runs them), and what the build runs itself.
 */
const ENTRY_POINTS = [
  "server.ts",
  "worker.ts",
  "lib/platform/db/embedded/pglite-code.ts",
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
  "@sigstore/bundle",
  "@sigstore/protobuf-specs",
  "@sigstore/verify",
  "@zxcvbn-ts/language-common",
  "commander",
  "next",
  "pg-copy-streams",
  "yaml",
  "yauzl",
  ...EXTERNAL_PACKAGES,
];

/** What the programs of the build print, without --verbose. Next keeps this folder when it empties its own. */
const OUTPUT = ".next/cache/build.log";
const KEYS = ".next/server/preview-props.json";
/** How much of it is printed if a program fails. */
const LAST_LINES = 20;

// Builds if there is no build of the sources as they are; with --force always.
if (process.argv.includes("--force") || !isBuilt()) {
  requireBuildPackages();
  requireBuildMemory();
  await build(process.argv.includes("--verbose"));
}

/** Prints what it does and how long that took: on the standard error, since the output of a start is the service's log. */
async function build(isVerbose) {
  // When it is built. The same sources and time make the same build in any folder.
  process.env.SOURCE_DATE_EPOCH ??= String(Math.floor(Date.now() / 1000));
  const startedMs = performance.now();
  const took = () => `${Math.round((performance.now() - startedMs) / 1000)} s`;
  say(
    `Building Homeport, which takes some minutes on a small machine${isVerbose ? "" : " (--verbose shows the output)"}.`,
  );
  mkdirSync(path.dirname(OUTPUT), { recursive: true });
  const output = isVerbose ? null : openSync(OUTPUT, "w");
  const run = (program, ...args) => {
    const failure = runProgram(output, program, args);
    if (failure === null) return;
    if (!isVerbose) say(`${readFileSync(OUTPUT, "utf8").trimEnd().split("\n").slice(-LAST_LINES).join("\n")}\n`);
    say(
      `The build failed after ${took()}: ${failure}.${isVerbose ? "" : ` Its whole output is in ${path.resolve(OUTPUT)}.`}`,
    );
    process.exit(1);
  };
  run(process.execPath, "scripts/generate.mjs");
  process.env.NEXT_SERVER_ACTIONS_ENCRYPTION_KEY = Buffer.from(hashSources(), "hex").toString("base64"); // there are none
  run("node_modules/.bin/next", "build"); // what `next start` needs, of which the service uses the pages
  replaceKeys();
  await bundle();
  run(process.execPath, `${BUNDLES}/database-template.mjs`);
  const { packTools } = await import("./build/tools.mjs"); // loads esbuild, which a start does not have
  await packTools(TOOLS, run);
  writeFingerprint();
  if (output !== null) closeSync(output);
  say(`Built in ${took()}.`);
}

/**
 * Replaces Next's random keys of previews by what the sources make. No page has a preview, and whoever has a package has its
 * keys anyway.
 */
function replaceKeys() {
  const keys = Object.values(JSON.parse(readFileSync(KEYS, "utf8")));
  const replace = (text, key) => text.replaceAll(key, hashSources().slice(0, key.length));
  for (const file of [KEYS, ".next/prerender-manifest.json"]) {
    writeFileSync(file, keys.reduce(replace, readFileSync(file, "utf8")));
  }
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Runs a program of the build, and returns how it failed; null: it has not. Without a file it prints what it prints. */
function runProgram(output, program, args) {
  const out = output ?? 2;
  const { status, signal, error } = spawnSync(program, args, {
    stdio: ["ignore", out, out],
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  const name = [path.basename(program), ...args].join(" ");
  if (error) return `${name}: ${error.message}`;
  if (signal === "SIGKILL") return `${name} was killed, probably for lack of memory: it needs ${BUILD_MEMORY_MB} MB`;
  if (signal) return `${name} was ended by ${signal}`;
  return status === 0 ? null : `${name} exited with ${status}`;
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
