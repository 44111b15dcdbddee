import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { freePort } from "@/dev/free-port";

const POLL_MS = 25;

/**
 * Starts PgBouncer in transaction mode, for one test, in front of the database at `url`, which must need no password.
 * `poolSize` is the number of its connections to PostgreSQL. `restart` ends it with every connection, and starts it anew.
 */
export async function startPgBouncer(url: string, poolSize: number) {
  const { hostname, port, pathname, username } = new URL(url);
  const name = pathname.slice(1);
  const listenPort = await freePort();
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-pgbouncer-"));
  const file = path.join(folder, "pgbouncer.ini");
  const settings = [
    `[databases]\n${name} = host=${hostname} port=${port} dbname=${name} user=${username}`,
    `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${listenPort}\nunix_socket_dir =\nauth_type = any`,
    `pool_mode = transaction\nignore_startup_parameters = options\ndefault_pool_size = ${poolSize}`,
  ];
  await writeFile(file, settings.join("\n"));
  for (const open of [folder, file]) await chmod(open, 0o755); // it refuses to run as root
  const start = async () => {
    const user = process.getuid?.() === 0 ? ["--user", "nobody"] : [];
    const child = spawn("pgbouncer", [...user, file], { stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    child.stderr.on("data", (chunk) => (output += chunk));
    while (!(await listens(listenPort))) {
      if (child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${output}`);
      await delay(POLL_MS);
    }
    return child;
  };
  let running = await start();
  const stop = async () => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  };
  onTestFinished(stop);
  return {
    url: `postgres://${username}@127.0.0.1:${listenPort}/${name}`,
    restart: async () => {
      await stop();
      running = await start();
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.on("error", () => resolve(false)).on("connect", () => socket.destroy());
  });
}
