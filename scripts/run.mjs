import { setFlagsFromString } from "node:v8";
import { isBuilt, requireBuildPackages } from "./build/fingerprint.mjs";

// As in start.mjs: optimizing PGlite's WebAssembly takes as much CPU time as most commands.
setFlagsFromString("--wasm-tiering-budget=100000000");
// run.mjs COMMAND ARGUMENTS…: runs a command from the build, or from its source where that is newer.
const [, , command, ...args] = process.argv;
process.argv = [process.execPath, command, ...args];
if (isBuilt()) {
  await import(`../.next/bin/${command}.mjs`);
} else {
  requireBuildPackages();
  await import("./generate.mjs");
  const { register } = await import("tsx/esm/api");
  register();
  await import(command === "homeport" ? "./homeport/homeport.ts" : `./${command}.ts`);
}
