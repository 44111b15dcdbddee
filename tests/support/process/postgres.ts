import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "@/tests/support/network/port";

export type Cluster = { url: string; start: () => void; stop: () => void; remove: () => void };

/**
 * Starts a PostgreSQL of its own, in a temporary folder, on a free port of the loopback address. `durable` has it
 * wait for the disk at each commit, as in production; tests do without.
 */
export async function startCluster({ durable = false } = {}): Promise<Cluster> {
  const bin = postgresFolder();
  const folder = mkdtempSync(path.join(tmpdir(), "homeport-postgres-"));
  const data = path.join(folder, "data");
  const port = await freePort();
  const user = serverUser(folder);
  const run = (program: string, args: string[]) =>
    execFileSync(path.join(bin, program), args, { stdio: "ignore", cwd: folder, ...user });
  const fsync = durable ? "on" : "off";
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync} -c max_connections=200`;
  const start = () => run("pg_ctl", ["-D", data, "-w", "-o", options, "-l", path.join(folder, "log"), "start"]);
  const stop = () => run("pg_ctl", ["-D", data, "-w", "-m", "immediate", "stop"]);
  run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
  start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop,
    remove: () => {
      stop();
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
    throw new Error("No PostgreSQL found. Install it (apt-get install postgresql), or set TEST_DATABASE_URL.");
  }
}
