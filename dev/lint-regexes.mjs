import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { transformSync } from "esbuild";
import { parseAst } from "vite";

// Without it, recheck would start a native program.
process.env.RECHECK_BACKEND = "pure";
const { checkSync } = await import("recheck");

/** Where expressions read settings, our own texts or the names of files, which have 255 bytes at most. */
const BOUNDED = /^(lib\/platform\/(config|db\/move\/server)|lib\/releases\/publishing\/folder|app\/\(web\)\/language)/;
const CHECKED = ["app", "lib", "clients/js/src", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"];
/** Of one expression. */
const LIMITS = { automatonMs: 5_000, fuzzingMs: 1_000 };
/** Of those that have to be found, however busy the machine is. */
const NO_LIMITS = { automatonMs: null, fuzzingMs: null };
/** What the check has to find: it would otherwise pass by finding nothing. */
const VULNERABLE = ["<!--[\\s\\S]*?-->", "<!\\[CDATA\\[[\\s\\S]*?\\]\\]>", "^(?:a|aa)+$", "\\s+$"];

/** The regular expressions of the service and the client, by their text, with the file of the first use. */
function expressions() {
  const { stdout } = spawnSync("git", ["ls-files", "-co", "--exclude-standard", ...CHECKED], { encoding: "utf8" });
  const found = new Map();
  for (const file of stdout.split("\n").filter((name) => /\.tsx?$/.test(name) && !BOUNDED.test(name))) {
    const { code } = transformSync(readFileSync(file, "utf8"), {
      loader: file.endsWith("x") ? "tsx" : "ts",
      jsx: "automatic",
    });
    visit(parseAst(code), ({ pattern, flags }) => {
      const key = `/${pattern}/${flags}`;
      if (!found.has(key)) found.set(key, { file, pattern, flags });
    });
  }
  return found;
}

function visit(node, onRegex) {
  if (typeof node !== "object" || node === null) return;
  if (node.type === "Literal" && node.regex) onRegex(node.regex);
  for (const child of Object.values(node)) visit(child, onRegex);
}

/** Whether a text makes the time of an expression grow faster than its length. By an automaton; where that cannot, by fuzzing. */
function isVulnerable(pattern, flags, { automatonMs, fuzzingMs } = LIMITS) {
  const exact = checkSync(pattern, flags, { timeout: automatonMs, checker: "automaton" });
  if (exact.status !== "unknown") return exact.status === "vulnerable";
  const limits = { timeout: fuzzingMs, ...(fuzzingMs === null && { incubationTimeout: null, attackTimeout: null }) };
  return checkSync(pattern, flags, { ...limits, checker: "fuzz" }).status === "vulnerable";
}

const missed = VULNERABLE.filter((pattern) => !isVulnerable(pattern, "g", NO_LIMITS));
if (missed.length > 0) throw new Error(`The check does not find ${missed.join(", ")}`);
const faults = [...expressions()].filter(([, { pattern, flags }]) => isVulnerable(pattern, flags));
for (const [text, { file }] of faults) process.stdout.write(`${file}: ${text} takes more than linear time\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
