import { writeFile } from "node:fs/promises";
import path from "node:path";

const FILE = "query_compiler.wasm";

/**
 * Writes Prisma's query compiler to a file beside the bundles, which read it from there. The package contains it as
 * base64 in a module of 4.6 MB, which takes ten times as long to load.
 * @type {import("esbuild").Plugin}
 */
export const queryCompilerFile = {
  name: "query-compiler-file",
  setup({ initialOptions, onResolve, onLoad }) {
    const namespace = "query-compiler";
    onResolve({ filter: /^@prisma\/client\/.*\.wasm-base64\.mjs$/ }, (module) => ({ path: module.path, namespace }));
    onLoad({ filter: /./, namespace }, async (module) => {
      const { wasm } = await import(import.meta.resolve(module.path));
      await writeFile(path.join(initialOptions.outdir, FILE), Buffer.from(wasm, "base64"));
      return { contents: READ };
    });
  },
};

const READ = `
import { readFileSync } from "node:fs";
export const wasm = readFileSync(new URL("./${FILE}", import.meta.url));`;
