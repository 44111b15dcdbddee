import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { build, newFolder, publish } from "@/tests/support/releases/publishing";
import { toolOutput, writeElectronUpdate } from "@/tests/support/releases/tools/output";

const CORE = ["--product", "core", "--platform", "windows", "--arch", "x64"];
const ID = "core-windows-x64-2.3.0";

/** Runs `homeport release … --json`. The whole standard output is one JSON document. */
async function newRelease() {
  const testFolder = await newFolder();
  const run = async (...args: string[]) => {
    const { code, stdout } = await runCommand("homeport", ["release", ...args, "--json"], {
      DATA_DIR: testFolder.folder,
    });
    return { code, json: JSON.parse(stdout) };
  };
  return { testFolder, file: await build(testFolder, "setup.exe"), run };
}

test("commands of homeport release print one JSON document each", async () => {
  const { file, run } = await newRelease();
  const updated = (outcome: string) => ({ code: 0, json: { releases: [{ id: ID, outcome }], newerServed: [] } });
  expect(await run("list")).toEqual({ code: 0, json: [] });
  expect(await run("add", file, ...CORE, "--version", "2.3.0", "--channel", "beta", "--critical")).toEqual({
    code: 0,
    json: { releases: [{ id: ID, outcome: "added" }], removedSamples: [], notes: [] },
  });
  expect(await run("edit", "2.3.0", "--notes", "Faster", "--no-critical")).toEqual(updated("changed"));
  const promoted = { id: `${ID}-stable`, from: ID, outcome: "added" };
  expect(await run("promote", "2.3.0", "--from", "beta", "--to", "stable")).toEqual({
    code: 0,
    json: { releases: [promoted] },
  });
  expect(await run("list", "--channel", "stable")).toMatchObject({
    json: [{ version: "2.3.0", notes: "Faster", critical: false, rollout: 100 }],
  });
  expect(await run("yank", ID)).toEqual(updated("changed"));
  expect(await run("remove", ID)).toEqual({
    code: 1,
    json: { error: { code: "confirmation_required", message: expect.stringContaining("--yes") } },
  });
  expect(await run("remove", ID, "--yes")).toEqual({
    code: 0,
    json: { dryRun: false, releases: [ID], files: [], elsewhere: [] },
  });
});

test("homeport release add-folder publishes the output of electron-builder", async () => {
  const { testFolder, run } = await newRelease();
  const electron = toolOutput(path.join(testFolder.folder, "dist"));
  await writeElectronUpdate(electron, "latest.yml", "2.0.0", ["Example Setup 2.0.0.exe"], { releaseNotes: "Faster" });
  await writeElectronUpdate(electron, "latest-mac.yml", "2.0.0", ["Example-2.0.0-universal-mac.zip"]);
  const ids = ["core-macos-universal-2.0.0", "core-windows-x64-2.0.0"];
  expect(await run("add-folder", electron.folder, "--product", "core")).toMatchObject({
    code: 0,
    json: { releases: ids.map((id) => ({ id, outcome: "added" })) },
  });
});

test("errors of homeport release are JSON with a stable code", async () => {
  const { testFolder, file, run } = await newRelease();
  const code = async (...args: string[]) => {
    const { code: exitCode, json } = await run(...args);
    return [exitCode, json.error.code];
  };
  await publish(testFolder, file, "1.0.0");
  await writeFile(file, randomBytes(1000));
  expect(await code("add", file, ...CORE, "--version", "1.0.0")).toEqual([1, "release_conflict"]);
  expect(await code("edit", "1.0.0")).toEqual([2, "invalid_arguments"]);
});
