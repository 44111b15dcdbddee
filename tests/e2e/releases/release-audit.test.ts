import { randomBytes } from "node:crypto";
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand } from "@/tests/support/process/command";
import { newDataDir, startForTest } from "@/tests/support/process/service";
import { build, newFolder, publish, verify } from "@/tests/support/releases/publishing";

const ID = "core-windows-x64-2.3.0";

const TARGET = ["--product", "core", "--platform", "windows", "--arch", "x64", "--version", "2.3.0"];

/** Runs commands as ann, each of which must succeed. */
const commandsIn = (DATA_DIR: string, env: Record<string, string> = {}) => {
  return async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand("homeport", args, { DATA_DIR, SUDO_USER: "ann", ...env });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };
};

type Run = ReturnType<typeof commandsIn>;

const eventsOf = async (run: Run) => {
  const events = JSON.parse(await run("audit", "list", "--target", `release:${ID}`, "--json")) as {
    type: string;
    actor: string;
  }[];
  return events.map(({ type, actor }) => [type, actor]);
};

async function newBuild(folder: string): Promise<string> {
  const file = path.join(folder, "setup.exe");
  await writeFile(file, randomBytes(100_000));
  return file;
}

test("commands record what they change in the audit trail, on an empty folder too", async () => {
  const DATA_DIR = await newDataDir();
  const run = commandsIn(DATA_DIR);
  await run("release", "add", await newBuild(DATA_DIR), ...TARGET);
  await run("release", "yank", ID);
  await run("release", "remove", ID, "--yes");
  expect(await eventsOf(run)).toEqual([
    ["release_removed", "operator:ann"],
    ["release_changed", "operator:ann"],
    ["release_published", "operator:ann"],
  ]);
});

test("--catalog edits a file, whatever the service reads, and creates nothing else", async () => {
  const folder = await newDataDir();
  const file = await newBuild(folder);
  const run = commandsIn(path.join(folder, "data"), { RELEASE_CATALOG: "https://cdn.example.com/catalog.json" });
  await run("release", "add", file, ...TARGET, "--catalog", path.join(folder, "site", "catalog.json"));
  expect((await readdir(folder)).sort()).toEqual(["setup.exe", "site"]);
  expect(await readFile(path.join(folder, "site", "catalog.json"), "utf8")).toContain(ID);
});

test("a kill while a file is copied leaves a valid catalog, and the command succeeds when repeated", async () => {
  const testFolder = await newFolder();
  const { folder: DATA_DIR, manifest } = testFolder;
  await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
  const before = await readFile(manifest, "utf8");
  const large = await build(testFolder, "large.msi");
  await truncate(large, 256 * 1024 ** 2);
  const args = ["release", "add", large, ...TARGET];
  const { child, ended } = startCommand("homeport", args, { DATA_DIR });
  // The upload: the folder of the catalog has the file for moments only, by a hard link.
  const isCopying = async () =>
    (await readdir(path.dirname(manifest), { recursive: true })).some((name) => name.endsWith(".part"));
  await expect.poll(isCopying, { timeout: 120_000, interval: 20 }).toBe(true);
  child.kill("SIGKILL");
  expect((await ended).code).toBeNull();
  expect(await readFile(manifest, "utf8")).toBe(before);
  expect(await verify(testFolder)).toMatchObject([{ problem: null }]);
  await truncate(large, 1_000);
  expect(await commandsIn(DATA_DIR)(...args)).toBe(`Published ${ID}\n`);
});

/** Makes a process kill itself when it is about to move, or has moved, a file to a path. */
const KILLER = `
import fs, { renameSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { rename } = fs.promises;
fs.promises.rename = async (from, to) => {
  if (process.env.KILL_AT === "staged" && String(to).endsWith(".next")) { renameSync(from, to); process.kill(process.pid, "SIGKILL"); }
  if (process.env.KILL_AT === "recorded" && String(from).endsWith(".next")) process.kill(process.pid, "SIGKILL");
  return rename(from, to);
};
syncBuiltinESMExports();
`;

test.each([
  ["before the change is recorded, neither happens", "staged", false],
  ["after it was recorded, both happen", "recorded", true],
])("a kill between a change of the catalog and its event: %s", async (_, point, isDone) => {
  const DATA_DIR = await newDataDir();
  const run = commandsIn(DATA_DIR);
  await run("release", "add", await newBuild(DATA_DIR), ...TARGET);
  const killer = path.join(DATA_DIR, "killer.mjs");
  await writeFile(killer, KILLER);
  const env = { DATA_DIR, SUDO_USER: "ann", KILL_AT: point, NODE_OPTIONS: `--import=${killer}` };
  expect((await runCommand("homeport", ["release", "yank", ID], env)).code).toBeNull();
  const service = await startForTest({ DATA_DIR });
  const isOffered = async () => (await service.fetch("/api/download/windows?version=2.3.0")).status === 200;
  await expect.poll(isOffered).toBe(!isDone);
  const [newest] = await eventsOf(run);
  expect(newest?.[0]).toBe(isDone ? "release_changed" : "release_published");
  const left = async () => (await readdir(path.join(DATA_DIR, "releases"))).filter((name) => name.endsWith(".next"));
  await expect.poll(left).toEqual([]);
});

test("schedules, halts, resumes and ends a rollout of a running service, which lists the reason", async () => {
  const service = await startForTest();
  const run = commandsIn(service.dataDir);
  const release = (...args: string[]) => run("release", ...args);
  await release("add", await newBuild(service.dataDir), ...TARGET, "--rollout", "0");
  expect(await release("rollout", "2.3.0", "--steps", "5,20.5,100", "--every", "24h")).toBe(
    `${ID}: rolled out in steps: 5%, 20.5%, 100%\n`,
  );
  expect(await release("list")).toContain(`${ID}: 5% (step 1 of 3)`);
  expect(await release("rollout", ID, "--halt", "--reason", "It crashes.")).toBe(`${ID}: halted\n`);
  expect(await release("list")).toContain(`${ID}: halted at step 1 of 3: It crashes.`);
  expect(await release("rollout", ID, "--resume")).toBe(`${ID}: resumed\n`);
  expect(await release("rollout", ID, "50")).toBe(`${ID}: rolled out to 50%\n`);
  const adoption = await runCommand("homeport", ["release", "adoption"], { DATA_DIR: service.dataDir });
  expect(adoption).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Nothing was counted") });
  expect((await eventsOf(run)).map(([type]) => type)).toEqual(["release_changed", "release_published"]);
});
