import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../dev/free-port";
import { isSmoke } from "./scale";

const BOOT_MS = 60_000;
const POLL_MS = 5;
const STOP_MS = 10_000;

export type Server = { url: string; pid: number; bootMs: number; stop: () => Promise<void> };

/** How to start a server. `PORT` is added to `env`; `ready` is a path that responds 2xx once the server is up. */
export type Launch = {
  name: string;
  command: string;
  args: (port: number) => string[];
  env: Record<string, string>;
  ready: string;
};

const running = new Set<Server>();

/** Starts a server in the current folder with its output in a file of `logs`, and waits until it responds. */
export async function startServer(launch: Launch, logs: string): Promise<Server> {
  const port = await freePort();
  const file = path.join(logs, `${launch.name.replace(/\W+/g, "-")}-${port}.log`);
  const output = openSync(file, "a");
  const startedAt = performance.now();
  const child = spawn(launch.command, launch.args(port), {
    env: { PATH: process.env.PATH ?? "", NODE_ENV: "production", PORT: String(port), ...launch.env },
    stdio: ["ignore", output, output],
  });
  const exited = once(child, "exit").catch(() => {}); // a missing command: child.pid is undefined
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url + launch.ready))) {
    const late = performance.now() - startedAt > BOOT_MS;
    if (late) child.kill("SIGKILL");
    if (late || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`${launch.name} did not start:\n${readFileSync(file, "utf8").slice(-2000)}`);
    }
    await delay(POLL_MS);
  }
  const stop = async () => {
    running.delete(server);
    child.kill(isSmoke ? "SIGKILL" : "SIGTERM"); // Homeport serves for a second after SIGTERM
    const stopped = await Promise.race([exited.then(() => true), delay(STOP_MS, false, { ref: false })]);
    if (!stopped) child.kill("SIGKILL");
    await exited;
  };
  const server = { url, pid: child.pid as number, bootMs: performance.now() - startedAt, stop };
  running.add(server);
  return server;
}

export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
