import { readFile } from "node:fs/promises";
import path from "node:path";
import { setFlagsFromString } from "node:v8";

// npm runs the project's scripts in its root folder. The package does not export the file.
const CODE = path.resolve("node_modules/@electric-sql/pglite/dist/pglite.wasm");

let compiled: Promise<WebAssembly.Module> | undefined;

/** PGlite's WebAssembly module. V8 compiles it on its own threads, so the process can load its other code meanwhile. */
export function compilePglite(): Promise<WebAssembly.Module> {
  compiled ??= readFile(CODE).then((code) => WebAssembly.compile(code));
  return compiled;
}

/** Whether this V8 takes 600 MB to optimize PostgreSQL's parser, as Node 24's does; that of Node 20 takes 26 MB. */
const OPTIMIZES_GREEDILY =
  Number.parseInt(process.versions.v8, 10) >= 13 && !process.execArgv.includes("--liftoff-only");

/**
 * Starts PGlite without letting V8 optimize what runs meanwhile, the parser included. These functions stay as they are:
 * statements take 4 % more CPU time.
 */
export async function startUnoptimized<T>(start: () => Promise<T>): Promise<T> {
  if (!OPTIMIZES_GREEDILY) return start();
  const set = (prefix: string) => {
    for (const name of ["wasm-tier-up", "wasm-dynamic-tiering"]) setFlagsFromString(`--${prefix}${name}`);
  };
  set("no-");
  try {
    return await start();
  } finally {
    set("");
  }
}
