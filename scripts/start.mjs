import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import "./build.mjs";

process.env.NODE_ENV = "production";
// V8 optimizes WebAssembly functions that run often. With Node 20's budget it does so for many of PGlite's functions during
// the start, which takes a third of its CPU time, and much memory. A larger budget leaves it to functions that load runs often.
setFlagsFromString("--wasm-tiering-budget=100000000");
// Checks each WebAssembly function when it is compiled, which is at its first call: most of PGlite's are never called.
setFlagsFromString("--wasm-lazy-validation");
// V8 would let the heap grow to four times what is in use, or 180 MiB, before it collects what requests have left.
setFlagsFromString("--heap-growing-percent=100");
if (existsSync(".env")) process.loadEnvFile(".env");
if (!process.env.DATABASE_URL?.trim() && !process.env.DATABASE_URL_FILE?.trim()) {
  const { compilePglite } = await import("../.next/bin/pglite-code.mjs");
  compilePglite().catch(() => {}); // the server reports it
}
await import("../.next/bin/server.mjs");
