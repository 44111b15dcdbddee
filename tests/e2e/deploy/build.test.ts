import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { canLimitMemory, newControlGroup } from "@/tests/support/process/control-group";
import { newDataDir } from "@/tests/support/process/service";

const LINKED = [
  "LICENSE",
  "app",
  "clients",
  "dev",
  "instrumentation.ts",
  "lib",
  "package-lock.json",
  "prisma",
  "proxy.ts",
  "public",
];
const ALSO_LINKED = ["server.ts", "tsconfig.json", "worker.ts"];
const COPIED = ["next.config.ts", "package.json", "scripts"];
/** Prints as many lines as Next does. The pages, which take minutes to build, are not what is tested here. */
const NEXT = `#!/bin/sh
for n in $(seq 300); do echo "route $n of next"; done
mkdir -p .next/server && echo '{}' | tee .next/server/preview-props.json > .next/prerender-manifest.json
if [ -n "$NEXT_SIGNAL" ]; then kill -s "$NEXT_SIGNAL" $$; fi
exit "\${NEXT_EXIT:-0}"
`;

let checkout: string;

beforeAll(async () => {
  checkout = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-build-")));
  for (const name of [...LINKED, ...ALSO_LINKED]) await symlink(path.resolve(name), path.join(checkout, name));
  const filter = (file: string) => !file.endsWith("node_modules");
  for (const name of COPIED) await cp(name, path.join(checkout, name), { recursive: true, filter });
  for (const name of ["", ".bin"]) {
    const folder = path.join("node_modules", name);
    await mkdir(path.join(checkout, folder));
    for (const entry of await readdir(folder)) {
      if (entry === ".bin" || (entry === "next" && name === ".bin")) continue;
      await symlink(path.resolve(folder, entry), path.join(checkout, folder, entry));
    }
  }
  await writeFile(path.join(checkout, "node_modules/.bin/next"), NEXT, { mode: 0o755 });
});
afterAll(() => rm(checkout, { recursive: true, force: true }));

/** Runs npm in the checkout, which is not built, until it has ended or printed a text. */
async function npm(args: string[], env: Record<string, string> = {}, until = /(?!)/) {
  await rm(path.join(checkout, ".next"), { recursive: true, force: true });
  const variables = { PORT: String(await freePort()), HOST: "127.0.0.1", DATA_DIR: await newDataDir(), ...env };
  const child = spawn("npm", args, {
    cwd: checkout,
    detached: true,
    env: { NODE_ENV: "production", PATH: process.env.PATH, HOME: checkout, ...variables },
  });
  onTestFinished(() => void (child.exitCode === null && process.kill(-Number(child.pid), "SIGKILL")));
  const text = { stdout: "", stderr: "" };
  const code = await new Promise<number | null>((resolve) => {
    for (const name of ["stdout", "stderr"] as const) {
      child[name].on("data", (chunk: Buffer) => {
        text[name] += chunk;
        if (until.test(text[name])) resolve(null);
      });
    }
    child.once("close", resolve);
  });
  return { code, ...text };
}

const LISTENING = /"msg":"listening"/;
const log = () => readFile(path.join(checkout, ".next/cache/build.log"), "utf8");

describe("npm start without a build", () => {
  test("prints what it does and the time that it took, then the service's own log", async () => {
    const { stdout, stderr } = await npm(["start"], {}, LISTENING);
    expect(stderr.split("\n").slice(0, 2)).toEqual([
      "Building Homeport, which takes some minutes on a small machine (--verbose shows the output).",
      expect.stringMatching(/^Built in \d+ s\.$/),
    ]);
    const own = stdout.split("\n").filter((line) => line !== "" && !line.startsWith("> "));
    expect(own.length).toBeGreaterThan(0);
    for (const line of own) expect(JSON.parse(line)).toMatchObject({ msg: expect.any(String) });
    expect(await log()).toContain("route 300 of next");
  });

  test("ends with the last lines of a failed build, and the file with all of them", async () => {
    const { code, stderr } = await npm(["start"], { NEXT_EXIT: "3" });
    expect(code).toBe(1);
    expect(stderr).not.toContain("route 1 of next");
    expect(stderr).toContain("route 300 of next");
    expect(stderr).toMatch(/The build failed after \d+ s: next build exited with 3\./);
    expect(stderr).toContain(`Its whole output is in ${path.join(checkout, ".next/cache/build.log")}.`);
    expect(await log()).toContain("route 1 of next");
  });

  test("prints the whole build with --verbose, and says that memory was short if it was killed", async () => {
    const { code, stderr } = await npm(["start", "--", "--verbose"], { NEXT_SIGNAL: "KILL" });
    expect(code).toBe(1);
    expect(stderr).toContain("route 1 of next");
    expect(stderr).toContain("next build was killed, probably for lack of memory: it needs ");
  });
});

test.runIf(canLimitMemory)("npm start in a control group without the memory for a build says what to do", async () => {
  const admission = await newControlGroup(1024 * 2 ** 20);
  await rm(path.join(checkout, ".next"), { recursive: true, force: true });
  const env = { NODE_ENV: "production", PATH: process.env.PATH, HOME: checkout } as const;
  const child = spawn("sh", ["-c", `echo $$ > ${admission}; exec npm start`], { cwd: checkout, env });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  expect(await new Promise((resolve) => child.once("close", resolve))).toBe(1);
  expect(stderr).toMatch(
    /^The build needs 1536 MB of memory, and \d+ MB are available \(limit of the control group: 1024 MB\)\.\n/,
  );
  expect(stderr).toContain("npm run package -- FOLDER");
});
