import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

type Ended = { code: number; stdout: string; stderr: string };

/** Runs a file of scripts/ as its npm command does, on a folder that must not be touched. */
function run(script: string, ...args: string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH ?? "", NODE_ENV: "production" as const, DATA_DIR: "/proc/none" };
  return new Promise((resolve) => {
    execFile(process.execPath, ["--import", "tsx", script, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };

/** Every npm command that takes arguments of our own: it runs a TypeScript file of scripts/. */
const COMMANDS = Object.entries(scripts).flatMap(([name, line]) => {
  const [, file] = /tsx (scripts\/[\w/-]+\.ts)$/.exec(line) ?? [];
  return file && name !== "test:postgres" ? [[name, file] as const] : [];
});

test("the commands are found in package.json", () => {
  expect(COMMANDS.map(([name]) => name)).toEqual(
    expect.arrayContaining(["accounts", "billing", "db:migrate", "release"]),
  );
});

test.each(COMMANDS)("npm run %s -- --help prints its usage, and does nothing else", async (name, file) => {
  const { code, stdout, stderr } = await run(file, "--help");
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: expect.stringContaining(`npm run ${name}`) });
});

test.each(COMMANDS)("npm run %s rejects an unknown argument with exit code 2 and its help", async (name, file) => {
  const { code, stderr } = await run(file, "no such argument");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`npm run ${name}`) });
});
