import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import "./generate.mjs";

// `next dev` with the variables of `npm start`. Next runs the route handlers as well as the pages.
if (existsSync(".env")) process.loadEnvFile(".env");
const { PORT = "3000", HOST = "0.0.0.0" } = process.env;
const next = spawn("node_modules/.bin/next", ["dev", "-p", PORT, "-H", HOST], {
  stdio: "inherit",
  env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
});
next.on("exit", (code) => process.exit(code ?? 1));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => next.kill(signal));
