import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import type { SeedInput, SeedResult } from "./run-seed";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string" },
    steps: { type: "string", default: "400" },
    trace: { type: "boolean", default: false },
  },
});

const CACHE = path.resolve("node_modules/.cache/simulation");

/** The service and the simulation in one file, as the sources are now. */
async function bundle(): Promise<string> {
  const outdir = path.join(CACHE, `build-${process.pid}`);
  await build({
    entryPoints: ["tests/simulation/seed.ts"],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    tsconfig: "tsconfig.json",
    logLevel: "error",
  });
  return path.join(outdir, "seed.mjs");
}

function run<T>(script: string, data: object): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(script, {
      workerData: data,
      execArgv: values.trace ? ["--enable-source-maps"] : [],
      env: { ...process.env, NODE_ENV: "production" },
    });
    worker.once("message", (message: T) => {
      resolve(message);
      void worker.terminate();
    });
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`The thread exited with ${code}`)));
  });
}

async function compiledModules(): Promise<Map<number, WebAssembly.Module>> {
  const pglite = readFileSync("node_modules/@electric-sql/pglite/dist/pglite.wasm");
  return new Map([[pglite.byteLength, await WebAssembly.compile(pglite)]]);
}

async function main(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const script = await bundle();
  const folder = mkdtempSync("/dev/shm/homeport-simulation-");
  try {
    const template = path.join(folder, "template");
    await run(script, { task: "template", folder: template });
    const modules = await compiledModules();
    const first = values.seed ?? values.from ?? String(Math.floor(Math.random() * 2 ** 32));
    const count = values.seed ? 1 : Number(values.seeds);
    let failures = 0;
    for (let i = 0; i < count; i++) {
      const input: SeedInput = {
        task: "seed",
        seed: Number(first) + i,
        template,
        folder,
        steps: null,
        length: Number(values.steps),
        withTrace: values.trace,
        modules,
      };
      const result = await run<SeedResult>(script, input);
      const { seed, operations, faults, ms, hash, trace, failure } = result;
      const rate = Math.round(operations / (ms / 1000));
      print(
        `seed ${seed}  ${operations} operations, ${rate}/s, ${faults} faults, trace ${hash}${failure ? `  FAILED: ${failure.check}` : ""}`,
      );
      if (failure) failures += 1;
      if (values.trace || failure) print((values.trace ? trace : trace.slice(-40)).join("\n"));
      if (failure) print(failure.message);
    }
    process.exitCode = failures > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(path.dirname(script), { recursive: true, force: true });
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

void main();
