import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir, operatorKeyOf, startForTest } from "@/tests/support/process/service";

const ID = "core-windows-x64-2.3.0";

const TARGET = ["--product", "core", "--platform", "windows", "--arch", "x64", "--version", "2.3.0"];

/** Runs commands as ann, each of which must succeed. */
const commandsIn = (DATA_DIR: string, env: Record<string, string> = {}) => {
  const run = (...args: string[]) => runCommand("homeport", args, { DATA_DIR, SUDO_USER: "ann", ...env });
  return async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
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

async function expectRecorded(run: Run, file: string) {
  await run("release", "add", file, ...TARGET);
  await run("release", "verify", "--remote");
  await run("release", "rollout", ID, "10");
  expect(await run("release", "rollout", ID, "--halt", "--reason", "It crashes.")).toBe(`${ID}: halted\n`);
  await run("release", "yank", ID);
  await run("release", "remove", ID, "--yes");
  expect(await eventsOf(run)).toEqual([
    ["release_removed", "operator:ann"],
    ["release_changed", "operator:ann"],
    ["release_changed", "operator:ann"],
    ["release_changed", "operator:ann"],
    ["release_published", "operator:ann"],
  ]);
}

test("commands record what they change in the audit trail, on an empty folder too", async () => {
  const DATA_DIR = await newDataDir();
  await expectRecorded(commandsIn(DATA_DIR), await newBuild(DATA_DIR));
});

test("--catalog edits a file, and creates nothing else", async () => {
  const folder = await newDataDir();
  const file = await newBuild(folder);
  const run = commandsIn(path.join(folder, "data"));
  await run("release", "add", file, ...TARGET, "--catalog", path.join(folder, "site", "catalog.json"));
  expect((await readdir(folder)).sort()).toEqual(["setup.exe", "site"]);
  expect(await readFile(path.join(folder, "site", "catalog.json"), "utf8")).toContain(ID);
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

/** Runs `homeport release` in a folder with the release 2.3.0. */
async function withRelease(DATA_DIR: string) {
  const file = path.join(DATA_DIR, "setup.exe");
  await writeFile(file, "a build");
  const run = (...args: string[]) => runCommand("homeport", ["release", ...args], { DATA_DIR, SUDO_USER: "ann" });
  const target = ["--product", "core", "--platform", "windows", "--arch", "x64"];
  expect(await run("add", file, ...target, "--version", "2.3.0", "--rollout", "0")).toMatchObject({ code: 0 });
  return run;
}

test("schedules, halts, resumes and ends a rollout of a running service, which lists the reason", async () => {
  const service = await startForTest();
  const run = await withRelease(service.dataDir);
  const output = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };
  expect(await run("rollout", "2.3.0", "--steps", "20,5", "--every", "1h")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("ascending"),
  });
  expect(await output("list")).toContain("paused");
  expect(await output("rollout", "2.3.0", "--steps", "5,20.5,100", "--every", "24h")).toBe(
    `${ID}: rolled out in steps: 5%, 20.5%, 100%\n`,
  );
  expect(await output("list")).toContain(`${ID}: 5% (step 1 of 3)`);
  expect(await output("rollout", ID, "--halt", "--reason", "It crashes.")).toBe(`${ID}: halted\n`);
  expect(await output("list")).toContain(`${ID}: halted at step 1 of 3: It crashes.`);
  const [listed] = JSON.parse(await output("list", "--json")) as { schedule: unknown }[];
  expect(listed).toMatchObject({ rollout: 5, schedule: { state: "halted", rollout: 0, haltReason: "It crashes." } });
  expect(await output("rollout", ID, "--resume")).toBe(`${ID}: resumed\n`);
  expect((await run("rollout", ID, "--resume")).stderr).toContain("has a rollout in this state");
  expect(await output("rollout", ID, "50")).toBe(`${ID}: rolled out to 50%\n`);
  expect(await output("list")).toContain("50%");
  expect(await run("adoption")).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Nothing") });
  const { stdout } = await run("adoption", "--days", "2", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ products: [], versions: [] });

  const key = await operatorKeyOf(service);
  const headers = { authorization: `Bearer ${key}` };
  const audit = await service.fetch("/api/admin/audit?actor=operator:ann", { headers });
  const { events } = (await audit.json()) as { events: { type: string }[] };
  expect(events.map(({ type }) => type)).toEqual([
    "release_changed",
    "rollout_resumed",
    "rollout_halted",
    "rollout_started",
    "release_published",
  ]);
});
