import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir } from "@/tests/support/process/service";
import { toolOutput, writeElectronUpdate, writeVelopack } from "@/tests/support/releases/tools/output";

const CORE = ["--product", "core", "--platform", "windows", "--arch", "x64"];
const SLOW = { timeout: 180_000 };
const ID = "core-windows-x64-2.3.0";

/** Runs `npm run release -- … --json`. The whole standard output is one JSON document. */
async function newRelease() {
  const DATA_DIR = await newDataDir();
  const file = path.join(DATA_DIR, "setup.exe");
  await writeFile(file, randomBytes(1000));
  const run = async (...args: string[]) => {
    const { code, stdout } = await runCommand("release", [...args, "--json"], { DATA_DIR });
    return { code, json: JSON.parse(stdout) };
  };
  return { folder: DATA_DIR, file, run };
}

test("every command of npm run release prints one JSON document", SLOW, async () => {
  const { file, run } = await newRelease();
  const updated = (outcome: string) => ({ code: 0, json: { releases: [{ id: ID, outcome }], newerServed: [] } });
  expect(await run("list")).toEqual({ code: 0, json: [] });
  expect(await run("add", file, ...CORE, "--version", "2.3.0", "--channel", "beta")).toEqual({
    code: 0,
    json: { releases: [{ id: ID, outcome: "added" }], removedSamples: [], notes: [] },
  });
  expect(await run("edit", "2.3.0", "--notes", "Faster", "--critical")).toEqual(updated("changed"));
  expect(await run("edit", "2.3.0", "--no-critical")).toEqual(updated("changed"));
  expect(await run("rollout", ID, "12.5")).toEqual(updated("changed"));
  const promoted = { id: `${ID}-stable`, from: ID, outcome: "added" };
  expect(await run("promote", "2.3.0", "--from", "beta", "--to", "stable")).toEqual({
    code: 0,
    json: { releases: [promoted] },
  });
  expect(await run("list", "--channel", "stable")).toMatchObject({
    json: [{ version: "2.3.0", notes: "Faster", critical: false, rollout: 100 }],
  });
  for (const command of ["yank", "rollback", "critical"]) expect(await run(command, ID)).toEqual(updated("changed"));
  expect(await run("verify")).toEqual({ code: 0, json: { valid: 1, invalid: 0, problems: [] } });
  const removed = { releases: [ID], files: [], elsewhere: [] };
  expect(await run("remove", ID, "--dry-run")).toEqual({ code: 0, json: { dryRun: true, ...removed } });
  expect(await run("remove", ID)).toEqual({
    code: 1,
    json: { error: { code: "confirmation_required", message: expect.stringContaining("--yes") } },
  });
  expect(await run("remove", ID, "--yes")).toEqual({ code: 0, json: { dryRun: false, ...removed } });
  expect(await run("prune", "--keep", "1", "--yes")).toEqual({
    code: 0,
    json: { dryRun: false, releases: [], files: [], freedBytes: 0, elsewhere: [] },
  });
});

test("npm run release -- add-folder publishes the output of electron-builder and of Velopack", SLOW, async () => {
  const { folder, run } = await newRelease();
  const electron = toolOutput(path.join(folder, "dist"));
  await writeElectronUpdate(electron, "latest.yml", "2.0.0", ["Example Setup 2.0.0.exe"], { releaseNotes: "Faster" });
  await writeElectronUpdate(electron, "latest-mac.yml", "2.0.0", ["Example-2.0.0-universal-mac.zip"]);
  const published = (...ids: string[]) => ({
    code: 0,
    json: { releases: ids.map((id) => ({ id, outcome: "added" })) },
  });
  expect(await run("add-folder", electron.folder, "--product", "core")).toMatchObject(
    published("core-macos-universal-2.0.0", "core-windows-x64-2.0.0"),
  );
  const velopack = toolOutput(path.join(folder, "Releases"));
  const fields = { id: "Acme", version: "3.0.0", os: "win", machineArchitecture: "x64" };
  await writeVelopack(velopack, "win", [{ name: "Acme-3.0.0-full.nupkg", fields, type: "Full" }]);
  expect(await run("add-folder", velopack.folder, "--product", "core")).toMatchObject(
    published(ID.replace("2.3", "3.0")),
  );
  expect(await run("add-folder", folder, "--product", "core")).toMatchObject({
    code: 1,
    json: { error: { code: "folder_unknown" } },
  });
});

test("errors of npm run release are JSON with a stable code", SLOW, async () => {
  const { file, run } = await newRelease();
  const code = async (...args: string[]) => {
    const { code: exitCode, json } = await run(...args);
    return [exitCode, json.error.code];
  };
  await run("add", file, ...CORE, "--version", "1.0.0");
  expect(await code("remove", "1.0.0", "--yes")).toEqual([1, "release_in_use"]);
  expect(await code("yank", "2.0.0")).toEqual([1, "release_not_found"]);
  await writeFile(file, randomBytes(1000));
  expect(await code("add", file, ...CORE, "--version", "1.0.0")).toEqual([1, "release_conflict"]);
  expect(await code("edit", "1.0.0")).toEqual([2, "invalid_arguments"]);
  expect(await code("prune", "--older-than", "soon")).toEqual([2, "invalid_arguments"]);
});
