import { transformSync } from "esbuild";
import { parseAst } from "vite";
import { beforeAll, expect, test } from "vitest";
import { read, sourceFiles } from "@/tests/support/sources";

const CHECKED = ["app", "lib", "clients/js/src", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"];
/** Where expressions read settings, our own texts or the names of files, which have 255 bytes at most. */
const BOUNDED = /^(lib\/platform\/(config|db\/move\/server)|lib\/releases\/publishing\/folder|app\/\(web\)\/language)/;
/** Of one expression. */
const LIMITS = { automatonMs: 5_000, fuzzingMs: 1_000 };
/** Of those that have to be found, however busy the machine is. */
const NO_LIMITS = { automatonMs: null, fuzzingMs: null };
const TIMEOUT = { timeout: 300_000 };

let recheck: typeof import("recheck");

beforeAll(async () => {
  process.env.RECHECK_BACKEND = "pure"; // without it, recheck would start a native program
  recheck = await import("recheck");
});

/** The regular expressions of the service and the client, by their text, with the file of the first use. */
function expressions() {
  const found = new Map<string, { file: string; pattern: string; flags: string }>();
  for (const file of CHECKED.flatMap(sourceFiles).filter((name) => !BOUNDED.test(name))) {
    const loader = file.endsWith("x") ? "tsx" : "ts";
    const { code } = transformSync(read(file), { loader, jsx: "automatic" });
    visit(parseAst(code), ({ pattern, flags }) => {
      const key = `/${pattern}/${flags}`;
      if (!found.has(key)) found.set(key, { file, pattern, flags });
    });
  }
  return found;
}

type Regex = { pattern: string; flags: string };

function visit(node: unknown, onRegex: (regex: Regex) => void): void {
  if (typeof node !== "object" || node === null) return;
  const { type, regex } = node as { type?: string; regex?: Regex };
  if (type === "Literal" && regex) onRegex(regex);
  for (const child of Object.values(node)) visit(child, onRegex);
}

/** Whether a text makes the time of an expression grow faster than its length. By an automaton; where that cannot, by fuzzing. */
function isVulnerable(
  { pattern, flags }: Regex,
  { automatonMs, fuzzingMs }: typeof LIMITS | typeof NO_LIMITS = LIMITS,
): boolean {
  const exact = recheck.checkSync(pattern, flags, { timeout: automatonMs, checker: "automaton" });
  if (exact.status !== "unknown") return exact.status === "vulnerable";
  const limits = { timeout: fuzzingMs, ...(fuzzingMs === null && { incubationTimeout: null, attackTimeout: null }) };
  return recheck.checkSync(pattern, flags, { ...limits, checker: "fuzz" }).status === "vulnerable";
}

// The next test would otherwise pass by finding nothing.
test.each(["<!--[\\s\\S]*?-->", "<!\\[CDATA\\[[\\s\\S]*?\\]\\]>", "^(?:a|aa)+$", "\\s+$"])(
  "the check finds %s",
  TIMEOUT,
  (pattern) => {
    expect(isVulnerable({ pattern, flags: "g" }, NO_LIMITS)).toBe(true);
  },
);

// ASVS 1.3.12
test("no regular expression takes more than linear time", TIMEOUT, () => {
  const all = [...expressions()];
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(([, regex]) => isVulnerable(regex)).map(([text, { file }]) => `${file}: ${text}`)).toEqual([]);
});
