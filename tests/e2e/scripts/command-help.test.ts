import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

type Ended = { code: number; stdout: string; stderr: string };

/** Runs an npm command of package.json, with a data folder that cannot be written. */
function run(command: string[], ...args: string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH ?? "", NODE_ENV: "production" as const, DATA_DIR: "/proc/none" };
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };

/** Node's arguments for every npm command that parses arguments: from the build, or by tsx. */
const COMMANDS = Object.entries(scripts).flatMap(([name, line]) => {
  const [, runner, ...args] = /^(node scripts\/run\.mjs|tsx) ([\w/.-]+)$/.exec(line) ?? [];
  if (!runner) return [];
  return [[name, runner === "tsx" ? ["--import", "tsx", ...args] : ["scripts/run.mjs", ...args]] as const];
});

test("the commands are found in package.json", () => {
  expect(COMMANDS.map(([name]) => name)).toEqual(
    expect.arrayContaining(["accounts", "billing", "db:migrate", "release"]),
  );
});

test.each(COMMANDS)("npm run %s -- --help prints its usage and does nothing", async (name, command) => {
  const { code, stdout, stderr } = await run(command, "--help");
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: expect.stringContaining(`npm run ${name}`) });
});

test.each(COMMANDS)("npm run %s rejects an unknown argument with exit code 2 and its usage", async (name, command) => {
  const { code, stderr } = await run(command, "no such argument");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`npm run ${name}`) });
});
