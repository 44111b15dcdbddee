import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import config from "../../vitest.config";

const SETUP = "tests/support/setup";
/** The files that take longest, as parts of their paths. */
const LONGEST = [
  "deploy/",
  "billing/",
  "scripts/accounts",
  "releases/release",
  "web/pages",
  "db/",
  "web/",
  "push/",
  "server/",
];

/** Runs the longest files first, so that no worker is left with one while the others have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((part) => moduleId.includes(`/e2e/${part}`));
      return found === -1 ? LONGEST.length : found;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

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
    sequence: { sequencer: LongestFirst },
    // Tests often wait for a process to start, for a timeout or for a browser, so twice as many run as there are cores.
    maxWorkers: 4,
  },
});
