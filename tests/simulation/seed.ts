import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { installDisk } from "./disk";
import { machine } from "./machine";
import type { SeedInput } from "./run-seed";

export type ThreadData = {
  template: string;
  folder: string;
  modules: Map<number, WebAssembly.Module> | null;
  sql?: string;
};

/** A thread that runs seeds, one after the other: code that has run before is faster. Nothing else of a seed is left in it. */
async function main(port: MessagePort): Promise<void> {
  const { template, folder: parent, modules, sql } = workerData as ThreadData;
  if (!modules) {
    const { createTemplate } = await import("./template");
    await createTemplate(template, sql);
    return port.postMessage("done");
  }
  machine.install(modules);
  const disk = installDisk();
  const { runSeed } = await import("./run-seed");
  port.on("message", async (input: SeedInput) => {
    const folder = mkdtempSync(path.join(parent, "seed-"));
    spawnSync("cp", ["-a", `${template}/.`, folder]);
    machine.begin(input.seed);
    disk.begin(path.join(folder, "db"));
    const result = await runSeed(input, folder, disk);
    rmSync(folder, { recursive: true, force: true });
    port.postMessage(result);
  });
}

if (parentPort) void main(parentPort);
