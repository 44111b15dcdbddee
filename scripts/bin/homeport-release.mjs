#!/usr/bin/env node
import path from "node:path";

// homeport-release COMMAND ARGUMENTS…: what `npm run release` runs, from any folder.
process.env.INIT_CWD = process.cwd();
process.chdir(path.resolve(import.meta.dirname, "../.."));
process.argv.splice(2, 0, "release");
await import("../run.mjs");
