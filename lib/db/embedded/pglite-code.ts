import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

let compiled: Promise<WebAssembly.Module> | undefined;

/** PGlite's WebAssembly module. V8 compiles it on its own threads, so the process can load its other code meanwhile. */
export function compilePglite(): Promise<WebAssembly.Module> {
  compiled ??= readFile(path.join(path.dirname(findPglite()), "pglite.wasm")).then((code) => WebAssembly.compile(code));
  return compiled;
}

const findPglite = () => createRequire(import.meta.url).resolve("@electric-sql/pglite");
