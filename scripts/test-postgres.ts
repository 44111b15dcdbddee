import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** Runs the tests on PostgreSQL: on TEST_DATABASE_URL's server, or on a cluster of its own that goes afterwards. */
const given = process.env.TEST_DATABASE_URL;
const cluster = given ? { url: given, stop: () => {} } : await startCluster();
try {
  const { status } = spawnSync("vitest", ["run", ...process.argv.slice(2)], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, TEST_DATABASE_URL: cluster.url },
  });
  process.exitCode = status ?? 1;
} finally {
  cluster.stop();
}

async function startCluster(): Promise<{ url: string; stop: () => void }> {
  const bin = postgresFolder();
  const folder = mkdtempSync(path.join(tmpdir(), "homeport-postgres-"));
  const data = path.join(folder, "data");
  const port = await freePort();
  const user = serverUser(folder);
  const run = (program: string, args: string[]) =>
    execFileSync(path.join(bin, program), args, { stdio: "ignore", cwd: folder, ...user });
  run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200`;
  run("pg_ctl", ["-D", data, "-w", "-o", options, "-l", path.join(folder, "log"), "start"]);
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => {
      run("pg_ctl", ["-D", data, "-m", "immediate", "stop"]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
function serverUser(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"]).toString());
  const [uid, gid] = [id("-u"), id("-g")];
  chownSync(folder, uid, gid);
  chmodSync(folder, 0o700);
  return { uid, gid };
}

/** The newest of Debian's PostgreSQL folders, else whatever stands in PATH. */
function postgresFolder(): string {
  const root = "/usr/lib/postgresql";
  const newest = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (newest) return path.join(root, newest, "bin");
  try {
    return path.dirname(execFileSync("which", ["initdb"]).toString().trim());
  } catch {
    console.error("No PostgreSQL found. Install it (apt-get install postgresql), or set TEST_DATABASE_URL.");
    process.exit(1);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
