import { readFile } from "node:fs/promises";
import path from "node:path";

// npm runs the project's scripts in its root folder. The package does not export the file.
const CODE = path.resolve("node_modules/@electric-sql/pglite/dist/pglite.wasm");

let compiled: Promise<WebAssembly.Module> | undefined;

/** PGlite's WebAssembly module. V8 compiles it on its own threads, so the process can load its other code meanwhile. */
export function compilePglite(): Promise<WebAssembly.Module> {
  compiled ??= readFile(CODE).then((code) => WebAssembly.compile(code));
  return compiled;
}
