import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { disk } from "./disk";
import type { Server } from "./instances";
import { machine } from "./machine";
import type { SeedInput } from "./run-seed";

export type ThreadData = {
  template: string;
  folder: string;
  modules: Map<number, WebAssembly.Module> | null;
  sql?: string;
  /** Two instances on it, instead of one on the embedded database. */
  server: Server | null;
};

/** A thread that runs a seed. */
async function main(port: MessagePort): Promise<void> {
  const { template, folder: parent, modules, sql, server } = workerData as ThreadData;
  if (!modules) {
    const { createTemplate, createServerTemplate } = await import("./template");
    return port.postMessage(await (server ? createServerTemplate(server.url, sql) : createTemplate(template, sql)));
  }
  machine.install(modules);
  disk.install();
  const { runSeed } = await import("./run-seed");
  port.on("message", async (input: SeedInput) => {
    const folder = mkdtempSync(path.join(parent, "seed-"));
    const [data, lost] = [path.join(folder, "data"), path.join(folder, "lost")];
    for (const place of [data, lost]) mkdirSync(place);
    // Not by another program: until it begins, it would hold the locks of another thread's service.
    if (!server) cpSync(template, data, { recursive: true });
    machine.begin(input.seed);
    disk.begin(data, lost);
    const result = await runSeed(input, data, server);
    rmSync(folder, { recursive: true, force: true });
    port.postMessage(result);
  });
}

if (parentPort) void main(parentPort);
