import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const SOURCES = ["app", "clients", "lib", "prisma", "public", "scripts", "package.json", "tsconfig.json"];
const run = promisify(execFile);

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "homeport-source-"));
  await run("cp", ["-a", ...SOURCES, folder]);
  await symlink(path.resolve("node_modules"), path.join(folder, "node_modules"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("every command of package.json runs from its source where there is no build", async () => {
  const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Record<string, string> };
  const commands = Object.values(scripts).flatMap((line) => /^node scripts\/run\.mjs ([\w-]+)/.exec(line)?.[1] ?? []);
  expect([...new Set(commands)].sort()).toEqual(["db-migrate", "homeport"]);
  for (const command of new Set(commands)) {
    const { stdout } = await run(process.execPath, ["scripts/run.mjs", command, "--help"], { cwd: folder });
    expect(stdout).toMatch(/^Usage: /);
  }
});
