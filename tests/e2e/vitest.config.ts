import path from "node:path";
import { defineConfig } from "vitest/config";
import config from "../../vitest.config";

const SETUP = "tests/support/setup";

/** The tests that start processes, browsers, PostgreSQL or proxies. */
export default defineConfig({
  ...config,
  root: path.resolve(import.meta.dirname, "../.."),
  test: {
    ...config.test,
    include: ["tests/e2e/**/*.test.ts"],
    exclude: [],
    globalSetup: ["folder", "build", "embedded", "postgres"].map((name) => `${SETUP}/${name}.setup.ts`),
    setupFiles: [],
  },
});
