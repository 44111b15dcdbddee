import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { postgresUrl } from "@/tests/support/database";
import { NODE_FLAGS } from "@/tests/support/process/command";
import { newDataDir, registerAt, startForTest } from "@/tests/support/process/service";

const MAX_MB = 250;
const run = promisify(execFile);
const packageInto = (folder: string) => run(process.execPath, ["scripts/package.mjs", folder]);

describe("the folder that npm run package writes", () => {
  let root: string;
  let first: string;

  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), "homeport-package-"));
    first = path.join(root, "homeport");
    await packageInto(first);
  });
  afterAll(async () => void (await run("rm", ["-rf", root])));

  test(`takes ${MAX_MB} MB at most, and has neither what builds nor what tests the service`, async () => {
    expect((await bytesIn(first)) / 1e6).toBeLessThan(MAX_MB);
    for (const name of ["esbuild", "prisma", "typescript", "vitest"]) {
      await expect(stat(path.join(first, "node_modules", name))).rejects.toThrow("ENOENT");
    }
  });

  test("runs the service, with its pages and sign-in, and the commands", async () => {
    const service = await startForTest({}, "start", first);
    const pages = ["/", "/download", "/sign-in", "/docs/billing", "/console"];
    const statuses = await Promise.all(pages.map(async (page) => (await service.fetch(page)).status));
    expect(statuses).toEqual(pages.map(() => 200));
    await registerAt(service, { email: "ann@example.com" });
    const program = path.join(first, "scripts/bin/homeport.mjs");
    const env = { ...process.env, DATA_DIR: service.dataDir };
    const bin = path.join(await newDataDir(), "homeport");
    await symlink(program, bin);
    expect((await run(bin, ["accounts", "list"], { env })).stdout).toContain("ann@example.com");
    const homeport = (...args: string[]) => run(process.execPath, [...NODE_FLAGS, program, ...args], { env });
    const backups = await newDataDir();
    await homeport("backup", "--to", backups);
    const [backup = ""] = await readdir(backups);
    expect((await homeport("backup", "verify", path.join(backups, backup))).stdout).toMatch(/^\d+ rows in \d+ tables/);
  });

  test.runIf(postgresUrl)("migrates PostgreSQL, and runs the service on it", async () => {
    const DATABASE_URL = await createDatabase(postgresUrl);
    const env = { NEXTAUTH_URL: "http://localhost:3000", NEXTAUTH_SECRET: "x".repeat(32), DATABASE_URL };
    await run("npm", ["run", "db:migrate"], { cwd: first, env: { ...process.env, ...env } });
    const service = await startForTest({ ...env, WEB_CONCURRENCY: "2" }, "start", first);
    expect((await service.fetch("/sign-in")).status).toBe(200);
    expect(service.log()).toContain("WEB_CONCURRENCY no longer exists and has no effect");
    expect(await service.end("SIGTERM")).toBe(0);
  });
});

test("npm run package refuses to write into a folder that is not empty", async () => {
  const folder = await newDataDir();
  await mkdir(path.join(folder, "data"));
  await expect(packageInto(folder)).rejects.toThrow(`${folder} is not empty.`);
  expect(await readdir(folder)).toEqual(["data"]);
});

/** The sizes of a folder's files, in bytes. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const stats = await Promise.all(files.map((entry) => stat(path.join(entry.parentPath, entry.name))));
  return stats.reduce((sum, { size }) => sum + size, 0);
}
