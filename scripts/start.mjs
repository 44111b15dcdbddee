import cluster from "node:cluster";
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { setFlagsFromString } from "node:v8";

// The processes of WEB_CONCURRENCY run what is built: a build would not be theirs alone.
if (cluster.isPrimary) await import("./build.mjs");

process.env.NODE_ENV = "production";
// V8 optimizes WebAssembly functions that run often. With Node 20's budget it does so for many of PGlite's functions during
// the start, which takes a third of its CPU time, and much memory. A larger budget leaves it to functions that load runs often.
setFlagsFromString("--wasm-tiering-budget=100000000");
// Checks each WebAssembly function when it is compiled, which is at its first call: most of PGlite's are never called.
setFlagsFromString("--wasm-lazy-validation");
if (!(await startsProcesses())) {
  if (existsSync(".env")) process.loadEnvFile(".env");
  if (!process.env.DATABASE_URL?.trim()) {
    const { compilePglite } = await import("../.next/bin/pglite-code.mjs");
    compilePglite().catch(() => {}); // the server reports it
  }
  await import("../.next/bin/server.mjs");
}

function ignore() {}

/**
 * Whether this process starts others that serve. They read .env themselves, so that a restarted process reads the
 * current file.
 */
async function startsProcesses() {
  if (!cluster.isPrimary) return false;
  const file = existsSync(".env") ? parseEnv(readFileSync(".env", "utf8")) : {};
  const variables = { ...file, ...process.env };
  if (["", "1"].includes(variables.WEB_CONCURRENCY?.trim() ?? "")) return false;
  // Until the supervisor handles it, SIGHUP would end the service. What it asks for is being started.
  process.on("SIGHUP", ignore);
  const { supervise } = await import("../.next/bin/supervisor.mjs");
  const isSupervisor = await supervise(variables, process.argv[1]);
  process.off("SIGHUP", ignore);
  return isSupervisor;
}
