import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import "./generate.mjs";

const LINTERS = [
  "biome ci --error-on-warnings",
  "tsc --noEmit",
  "tsc -p clients/js --noEmit",
  "knip",
  "node dev/lint-advisories.mjs",
];
// The benchmarks' peers are installed by `npm run bench`, or by `npm --prefix bench ci`.
if (existsSync("bench/node_modules")) LINTERS.push("tsc -p bench");

// All at once. Each prints its output when it is done, so that no two mix. Our own print only faults and warnings.
const results = await Promise.all(LINTERS.map(run));
process.exitCode = results.every(Boolean) ? 0 : 1;

/** Runs one linter. Resolves to whether it passed. */
async function run(command) {
  const startedAt = performance.now();
  const [program, ...args] = command.split(" ");
  const child = spawn(program === "node" ? process.execPath : `node_modules/.bin/${program}`, args, {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], ...output] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(
    `${code === 0 && program !== "node" ? "" : output.join("")}${command}: ${code === 0 ? "ok" : "FAILED"}, ${seconds} s\n`,
  );
  return code === 0;
}
