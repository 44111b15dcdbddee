import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { operatorKeyOf, startForTest } from "@/tests/support/process/service";

const ID = "core-windows-x64-2.3.0";

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
