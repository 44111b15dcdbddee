#!/usr/bin/env node
import path from "node:path";

// homeport GROUP COMMAND ARGUMENTS…, from any folder.
process.env.INIT_CWD = process.cwd();
process.chdir(path.resolve(import.meta.dirname, "../.."));
process.argv.splice(2, 0, "homeport");
await import("../run.mjs");
