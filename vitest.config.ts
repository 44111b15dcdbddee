import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "@": path.resolve(import.meta.dirname) } },
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/setup/build.setup.ts", "tests/support/setup/template.setup.ts"],
    setupFiles: ["tests/support/setup/worker.setup.ts"],
    // A worker keeps its database from file to file: opening one costs more than most files take.
    isolate: false,
    pool: "forks",
    maxWorkers: 2,
    // For machines that are slow or busy: what is waited for is a condition, and these only end what never comes.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
