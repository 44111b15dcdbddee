import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writeApiTypes } from "../../../scripts/build/api-types.mjs";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const TSC = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));

// Writes dist: a JavaScript module and its types for each source, and push-worker.js as a script without imports.
await writeApiTypes();
rmSync(`${PACKAGE}dist`, { recursive: true, force: true });
const { status } = spawnSync(TSC, ["-p", PACKAGE], { stdio: "inherit" });
process.exitCode = status ?? 1;
await build({
  entryPoints: [`${PACKAGE}src/push-worker.ts`],
  outfile: `${PACKAGE}dist/push-worker.js`,
  bundle: true,
  format: "iife",
  target: "es2022",
});
