import { spawnSync } from "node:child_process";
import { startCluster } from "../tests/support/process/postgres";

/** Runs the tests on PostgreSQL: on TEST_DATABASE_URL's server, or on a cluster of its own that goes afterwards. */
const given = process.env.TEST_DATABASE_URL;
const cluster = given ? undefined : await startCluster();
try {
  const { status } = spawnSync("vitest", ["run", ...process.argv.slice(2)], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, TEST_DATABASE_URL: given ?? cluster?.url },
  });
  process.exitCode = status ?? 1;
} finally {
  cluster?.remove();
}
