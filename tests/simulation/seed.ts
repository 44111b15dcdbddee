import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { installDisk } from "./disk";
import { machine } from "./machine";
import type { SeedInput } from "./run-seed";

/** Runs one seed in a thread of its own: no module, timer or file of another seed is left in it. */
async function main(): Promise<void> {
  const input = workerData as SeedInput | { task: "template"; folder: string; sql?: string };
  if (input.task === "template") {
    const { createTemplate } = await import("./template");
    await createTemplate(input.folder, input.sql);
    parentPort?.postMessage("done");
    return;
  }
  const folder = mkdtempSync(path.join(input.folder, "seed-"));
  spawnSync("cp", ["-a", `${input.template}/.`, folder]);
  machine.install(input.modules);
  machine.seed(input.seed);
  const disk = installDisk(path.join(folder, "db"));
  const { runSeed } = await import("./run-seed");
  const result = await runSeed(input, folder, disk);
  rmSync(folder, { recursive: true, force: true });
  parentPort?.postMessage(result);
}

void main();
