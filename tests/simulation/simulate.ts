import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { build, type Plugin } from "esbuild";
import { type Cluster, startCluster } from "@/dev/postgres";
import type { Mutation } from "./mutations/mutation";
import type { SeedInput, SeedResult } from "./run-seed";
import type { ThreadData } from "./seed";

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    minutes: { type: "string" },
    /** How many steps a seed has. */
    steps: { type: "string", default: "400" },
    /** Replays one seed. `keep` is what shrinking has printed. */
    seed: { type: "string" },
    keep: { type: "string" },
    trace: { type: "boolean", default: false },
    /** Runs the seeds that have failed before, too. */
    known: { type: "boolean", default: false },
    /** Runs each seed twice, and compares the traces. */
    twice: { type: "boolean", default: false },
    mutations: { type: "boolean", default: false },
    /** `no-shrink` shows the whole trace of a failure at once. */
    shrink: { type: "boolean", default: true },
    limit: { type: "string" },
    /** With `mutations` those whose name contains it; with seeds the one to put in. */
    name: { type: "string", default: "" },
  },
  allowNegative: true,
});

const CACHE = path.resolve("node_modules/.cache/simulation");
/** Memory, if there is a file system in it. */
const MEMORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const MUTATIONS = path.resolve("tests/simulation/mutations");
const KNOWN = "tests/simulation/seeds.json";
const PGLITE = "node_modules/@electric-sql/pglite/dist/pglite.wasm";
const MINUTE_MS = 60_000;
/** What one mutation may take, and how long a failure is shrunk. */
const MUTATION_MS = 5 * MINUTE_MS;
const SHRINK_MS = 2 * MINUTE_MS;

/** Node loads modules on its threads: counts those that the service loads while it runs. Applies a mutation. */
const sources = (mutation: Mutation | null): Plugin => ({
  name: "sources",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/(?:lib|app)\/.*\.ts$/ }, ({ path: file }) => {
      let contents = readFileSync(file, "utf8");
      if (mutation?.file === path.relative(".", file)) contents = applied(mutation, contents);
      const dynamic = /(?<!typeof )\bimport\((?:\/\*.*?\*\/ )*("[^"]+")\)(?!\.[A-Z])/g;
      return { contents: contents.replace(dynamic, "globalThis.countedImport(() => import($1))"), loader: "ts" };
    });
  },
});

function applied({ file = "", search = "", replace = "" }: Mutation, source: string): string {
  if (source.split(search).length !== 2) throw new Error(`${file} does not contain once: ${search}`);
  return source.replace(search, () => replace);
}

/** The service and the simulation, as the sources are now, and a migrated database. */
async function prepare(mutation: Mutation | null = null, isPair = mutation?.instances === 2) {
  mkdirSync(CACHE, { recursive: true });
  const outdir = mkdtempSync(path.join(CACHE, "build-"));
  const folder = mkdtempSync(path.join(MEMORY, "homeport-simulation-"));
  await build({
    entryPoints: ["tests/simulation/seed.ts"],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    plugins: [sources(mutation)],
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    logLevel: "error",
  });
  const script = path.join(outdir, "seed.mjs");
  const template = path.join(folder, "template");
  mkdirSync(template);
  const pglite = readFileSync(PGLITE);
  const hasServer = process.env.TEST_DATABASE === "postgres" || isPair;
  const server = hasServer ? { url: await serverUrl(), template: "" } : null;
  const data: ThreadData = { template, folder, modules: null, sql: mutation?.sql, server };
  const name = await answerOf<string>(startThread(script, data));
  if (server) server.template = name;
  data.modules = new Map([[pglite.byteLength, await WebAssembly.compile(pglite)]]);
  return {
    /** Whether a seed gives the same run each time: a server runs statements at the same time. */
    isExact: !server,
    /** Each seed has a thread of its own: what libraries remember, such as the time of the last id, would change the next one. */
    run: async (seed: number, steps: number[] | null = null, length = Number(options.steps)) => {
      const worker = startThread(script, data);
      worker.postMessage({ seed, steps, length } satisfies SeedInput);
      const result = await answerOf<SeedResult>(worker);
      void worker.terminate();
      return result;
    },
    close: async () => {
      for (const place of [outdir, folder]) rmSync(place, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL for two instances, in memory, until all has run. */
let cluster: Cluster | undefined;

async function serverUrl(): Promise<string> {
  process.env.TMPDIR = MEMORY;
  if (!cluster) {
    cluster = await startCluster();
    const end = () => {
      cluster?.remove();
      process.exit(1);
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  }
  return cluster.url;
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

function startThread(script: string, workerData: ThreadData): Worker {
  const execArgv = options.trace ? ["--enable-source-maps"] : [];
  const env = { ...process.env, NODE_ENV: "production" };
  return new Worker(script, { workerData, execArgv, env, resourceLimits: { maxYoungGenerationSizeMb: 64 } });
}

function answerOf<T>(worker: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`The thread exited with ${code}`)));
  });
}

/** Runs what `next` begins, as many at a time as there are processors, until it returns null. */
async function inParallel(next: () => Promise<void> | null): Promise<void> {
  const lane = async () => {
    for (let running = next(); running; running = next()) await running;
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
}

/** Leaves out steps as long as the rest fails in the same way. Returns the steps that are left. */
async function shrink(prepared: Prepared, { seed, failure, length }: SeedResult): Promise<number[]> {
  const until = performance.now() + SHRINK_MS;
  let steps = Array.from({ length: Math.min((failure?.step ?? length) + 1, length) }, (_, i) => i);
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < steps.length && performance.now() < until; ) {
      const rest = [...steps.slice(0, start), ...steps.slice(start + size)];
      const result = await prepared.run(seed, rest);
      if (result.failure?.check === failure?.check) steps = rest;
      else start += size;
    }
  }
  return steps;
}

const rateOf = ({ operations, ms }: { operations: number; ms: number }) => Math.round(operations / (ms / 1000));

async function runSeeds(): Promise<number> {
  const prepared = await prepare(options.name === "" ? null : await mutationNamed(options.name));
  const from = Number(options.seed ?? options.from ?? Math.floor(Math.random() * 2 ** 31));
  const count = options.seed ? 1 : Number(options.seeds ?? (options.minutes ? Number.POSITIVE_INFINITY : 20));
  const until = performance.now() + (options.minutes ? Number(options.minutes) * MINUTE_MS : Number.POSITIVE_INFINITY);
  /** Each with the commit that mended what it had found. */
  const known: { seed: number; steps: number; commit: string }[] = options.known
    ? JSON.parse(readFileSync(KNOWN, "utf8"))
    : [];
  const totals = { operations: 0, faults: 0, ms: 0, seeds: 0, failures: 0 };
  const coverage: Record<string, number> = {};
  const keep = options.keep?.split(",").map(Number) ?? null;
  const runOne = async (seed: number, length?: number) => {
    const result = await prepared.run(seed, keep, length);
    const { operations, faults, hash, failure } = result;
    totals.seeds += 1;
    totals.operations += operations;
    totals.faults += faults;
    for (const [key, times] of Object.entries(result.coverage)) coverage[key] = (coverage[key] ?? 0) + times;
    const outcome = failure ? `FAILED: ${failure.check}` : "ok";
    print(
      `seed ${seed}  ${operations} operations  ${rateOf(result)} operations/s  ${faults} faults  ${hash}  ${outcome}`,
    );
    if (options.twice) {
      const { hash: again, trace } = await prepared.run(seed, keep, length);
      const line = result.trace.findIndex((text, i) => text !== trace[i]);
      if (again !== hash) {
        print(`seed ${seed} has another trace the second time:\n- ${result.trace[line]}\n+ ${trace[line]}`);
        totals.failures += 1;
      }
    }
    if (options.trace) print(result.trace.join("\n"));
    if (!failure) return;
    totals.failures += 1;
    print(failure.message);
    if (!options.trace) print(await shrunk(prepared, result));
  };
  const startedMs = performance.now();
  const waiting = [...known];
  let begun = 0;
  try {
    await inParallel(() => {
      const again = waiting.shift();
      if (again) return runOne(again.seed, again.steps);
      return begun < count && performance.now() < until ? runOne(from + begun++) : null;
    });
  } finally {
    totals.ms = performance.now() - startedMs;
    await prepared.close();
  }
  printCoverage(coverage);
  print(
    `${totals.seeds} seeds, ${totals.operations} operations, ${rateOf(totals)} operations/s, ${totals.faults} faults`,
  );
  return totals.failures;
}

async function shrunk(prepared: Prepared, result: SeedResult): Promise<string> {
  if (!prepared.isExact || !options.shrink) return result.trace.slice(-100).join("\n");
  const steps = await shrink(prepared, result);
  const { trace } = await prepared.run(result.seed, steps);
  return (
    `The shortest that was found has ${steps.length} of ${result.length} steps:\n${trace.slice(-60).join("\n")}\n` +
    `npm run simulate -- --seed ${result.seed} --steps ${result.length} --keep ${steps.join(",")} --trace`
  );
}

/** Operations by faults: how often each fault happened during each operation. */
function printCoverage(coverage: Record<string, number>): void {
  const cells = Object.entries(coverage).map(([key, times]) => [...key.split("|"), String(times)]);
  const faults = [...new Set(cells.map(([, fault]) => fault ?? ""))].sort();
  const operations = [...new Set(cells.map(([operation]) => operation ?? ""))].sort();
  const row = (name: string, values: string[]) => `${name.padEnd(34)}${values.map((one) => one.padStart(11)).join("")}`;
  print(
    `\n${row(
      "",
      faults.map((fault) => fault.split(" ")[0] ?? ""),
    )}`,
  );
  print(
    row(
      "",
      faults.map((fault) => fault.split(" ")[1] ?? ""),
    ),
  );
  for (const operation of operations)
    print(
      row(
        operation,
        faults.map((fault) => String(coverage[`${operation}|${fault}`] ?? "·")),
      ),
    );
}

/** Puts in each mutation, and runs seeds until one fails. */
async function runMutations(): Promise<number> {
  const until = performance.now() + Number(options.minutes ?? Number.POSITIVE_INFINITY) * MINUTE_MS;
  const names = readdirSync(MUTATIONS).filter((file) => file !== "mutation.ts" && file.includes(options.name));
  const chosen = names.slice(0, Number(options.limit ?? names.length));
  let missed = 0;
  for (const file of chosen) {
    const name = file.replace(/\.ts$/, "");
    if (performance.now() >= until) {
      print(`${name.padEnd(36)} not run: the time is over`);
      missed += 1;
      continue;
    }
    const mutation = await mutationNamed(name);
    const found = await findMutation(mutation, Math.min(until, performance.now() + MUTATION_MS));
    const took = `${found.seeds} seeds, ${found.seconds} s`;
    print(`${name.padEnd(36)} ${found.check ? `found after ${took}: ${found.check}` : `NOT FOUND after ${took}`}`);
    if (!found.check) missed += 1;
  }
  for (const prepared of plain.values()) await (await prepared).close();
  print(`${chosen.length - missed} of ${chosen.length} mutations were found`);
  return missed;
}

async function mutationNamed(name: string): Promise<Mutation> {
  return ((await import(path.join(MUTATIONS, `${name}.ts`))) as { mutation: Mutation }).mutation;
}

/** The service without a mutation, on one instance or on two. */
const plain = new Map<boolean, Promise<Prepared>>();

/** Whether a seed fails without a mutation, too: then it says nothing of it. */
async function failsAnyway(seed: number, check: string, mutation: Mutation): Promise<boolean> {
  const isPair = mutation.instances === 2;
  const prepared = plain.get(isPair) ?? prepare(null, isPair);
  plain.set(isPair, prepared);
  return (await (await prepared).run(seed)).failure?.check === check;
}

async function findMutation(mutation: Mutation, until: number) {
  const startedMs = performance.now();
  const prepared = await prepare(mutation);
  let [check, seeds] = ["", 0];
  const from = Number(options.from ?? 1);
  try {
    await inParallel(() => {
      if (check !== "" || performance.now() >= until) return null;
      const seed = from + seeds++;
      return prepared.run(seed).then(
        async ({ failure }) => {
          if (failure && !(await failsAnyway(seed, failure.check, mutation))) check ||= failure.check;
        },
        (error: Error) => {
          check ||= `the service does not start: ${error.message}`;
        },
      );
    });
  } finally {
    await prepared.close();
  }
  return { check, seeds, seconds: Math.round((performance.now() - startedMs) / 1000) };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = (await (options.mutations ? runMutations() : runSeeds())) > 0 ? 1 : 0;
} finally {
  cluster?.remove();
}
