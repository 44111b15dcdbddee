import { builtinModules } from "node:module";
import path from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { LongestFirst } from "./tests/support/setup/longest-first";

const SETUP = "tests/support/setup";
/** `npm run test:postgres` sets TEST_DATABASE=postgres. */
const isOnPostgres = process.env.TEST_DATABASE === "postgres";
const databases = isOnPostgres ? ["embedded", "postgres"] : ["embedded"];
const setupFilesOf = (...names: string[]) => names.map((name) => `${SETUP}/${name}.setup.ts`);

/** What a server does not change: files that neither call a route nor use the database, or use the embedded one. */
const WITHOUT_SERVER = ["project/*", "releases/publishing/*", "db/embedded-*"];

/** The tests that run in process. */
const inProcess = {
  include: ["tests/**/*.test.ts"],
  exclude: [
    "tests/e2e/**",
    "tests/install/**",
    ...(isOnPostgres ? WITHOUT_SERVER.map((files) => `tests/${files}`) : []),
  ],
  globalSetup: setupFilesOf("folder", ...databases),
  setupFiles: setupFilesOf("context"),
  // Tests also wait for the disk and for hashes, so more of them run than there are cores; on a server, also for it.
  maxWorkers: isOnPostgres ? 5 : 4,
};

/** The tests that start processes, browsers, PostgreSQL or proxies. */
const endToEnd = {
  include: ["tests/e2e/**/*.test.ts"],
  globalSetup: setupFilesOf("folder", "build", "embedded", "postgres"),
  // Tests often wait for a process to start, for a timeout or for a browser, so twice as many run as there are cores.
  maxWorkers: 4,
};

/** The tests that install the service as its users do: in a Debian root, in containers, in an app of its own. Each has both cores. */
const install = {
  include: ["tests/install/**/*.test.ts"],
  globalSetup: setupFilesOf("folder", "build", "embedded"),
  maxWorkers: 1,
};

const suites = { e2e: endToEnd, install };

/**
 * The same list in every version of Node, unlike Vitest's: the keys of compiled sources contain it, and with this they are
 * compiled once for two versions. Modules that are named only with "node:" are left out.
 */
const builtins: Plugin = {
  name: "builtins",
  enforce: "post",
  configEnvironment: {
    order: "post",
    handler: (_, { resolve }) => {
      const names = builtinModules.filter((name) => !name.startsWith("node:"));
      if (resolve) resolve.external = names.flatMap((name) => [name, `node:${name}`]);
    },
  },
};

export default defineConfig({
  plugins: [builtins],
  resolve: { alias: { "@": path.resolve(import.meta.dirname) } },
  test: {
    // `npm run test:e2e` sets TEST_SUITE=e2e. One file configures all suites: so they share the compiled sources.
    ...(suites[process.env.TEST_SUITE as keyof typeof suites] ?? inProcess),
    // A worker keeps its database from file to file: opening one costs more than most files take.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Compiled sources stay in node_modules: the suites share most of them.
    experimental: { fsModuleCache: true },
    pool: "forks",
    // PGlite's WebAssembly compiled once, not optimized: in a worker's time that costs as much as it saves, on threads that
    // compete with the other workers.
    execArgv: ["--liftoff-only"],
    // For machines that are slow or busy: tests wait for conditions, and these only end a wait that never would.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
