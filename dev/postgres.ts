import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { freePort } from "./free-port";

export type Cluster = {
  url: string;
  start: () => void;
  stop: () => void;
  /** Makes a standby the primary. */
  promote: () => void;
  remove: () => void;
};

/**
 * Starts a PostgreSQL cluster in a temporary folder, on a free port of the loopback interface: an empty one, or a standby
 * of the cluster at `standbyOf`. fsync is off unless `durable` is set.
 * @throws Error if PostgreSQL is not installed.
 */
export async function startCluster({ durable = false, standbyOf = "" } = {}): Promise<Cluster> {
  const bin = postgresFolder();
  if (!bin) throw new Error("PostgreSQL is not installed. Install it (apt-get install postgresql).");
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
  if (standbyOf) run("pg_basebackup", ["-d", standbyOf, "-D", data, "-R", "-c", "fast", "--no-sync"]);
  else run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
  start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop,
    promote: () => run("pg_ctl", ["-D", data, "-w", "promote"]),
    remove: () => {
      if (existsSync(path.join(data, "postmaster.pid"))) stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root. Debian's package creates a user for it. */
function serverUser(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"]).toString());
  const [uid, gid] = [id("-u"), id("-g")];
  chownSync(folder, uid, gid);
  chmodSync(folder, 0o700);
  return { uid, gid };
}

/** Whether PostgreSQL's programs are installed. */
export const isPostgresInstalled = (): boolean => postgresFolder() !== null;

/** Debian's folder of the newest PostgreSQL, else the folder of `initdb` in PATH; null if neither exists. */
function postgresFolder(): string | null {
  const root = "/usr/lib/postgresql";
  const newest = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (newest) return path.join(root, newest, "bin");
  const initdb = spawnSync("which", ["initdb"]).stdout?.toString().trim();
  return initdb ? path.dirname(initdb) : null;
}

/** Closes every connection to a database, as PostgreSQL requires of a template. Returns when they are closed. */
export async function closeConnections(url: string): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  const client = new Client({ connectionString: new URL("/postgres", url).href });
  await client.connect();
  await client.query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", [database]);
  await client.end();
}

/** Creates a database on a PostgreSQL server, as a copy of `template`. Returns its URL. */
export async function createDatabase(server: string, template = "template1"): Promise<string> {
  const name = `homeport_test_${randomUUID().replaceAll("-", "")}`;
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
