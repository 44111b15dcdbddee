import path from "node:path";
import { defineConfig } from "vitest/config";

const SETUP = "tests/support/setup";
/** `npm run test:postgres` sets TEST_DATABASE=postgres. */
const isOnPostgres = process.env.TEST_DATABASE === "postgres";
const databases = isOnPostgres ? ["embedded", "postgres"] : ["embedded"];

/** The tests that run in process. tests/e2e has a configuration of its own. */
export default defineConfig({
  resolve: { alias: { "@": path.resolve(import.meta.dirname) } },
  test: {
    include: ["tests/**/*.test.ts"],
    exclude: ["tests/e2e/**"],
    globalSetup: ["folder", ...databases].map((name) => `${SETUP}/${name}.setup.ts`),
    setupFiles: [`${SETUP}/context.setup.ts`],
    // A worker keeps its database from file to file: opening one costs more than most files take.
    isolate: false,
    // Compiled sources stay in node_modules: the suites share most of them.
    experimental: { fsModuleCache: true },
    pool: "forks",
    // PGlite's WebAssembly compiled once, not optimized: in a worker's time that costs as much as it saves, on threads that
    // compete with the other workers.
    execArgv: ["--liftoff-only"],
    // Tests also wait for the disk and for hashes, so more of them run than there are cores; on a server, also for it.
    maxWorkers: isOnPostgres ? 5 : 3,
    // For machines that are slow or busy: tests wait for conditions, and these only end a wait that never would.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
