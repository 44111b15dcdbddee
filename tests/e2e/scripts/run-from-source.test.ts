import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
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

test("commands run from their source where there is no build", async () => {
  for (const command of ["db-migrate", "homeport"]) {
    const { stdout } = await run(process.execPath, ["scripts/run.mjs", command, "--help"], { cwd: folder });
    expect(stdout).toMatch(/^Usage: /);
  }
});
