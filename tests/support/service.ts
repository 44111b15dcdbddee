import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { WEBHOOK_SECRET } from "./context";
import { freePort } from "./port";

export type Service = {
  url: string;
  dataDir: string;
  pid: number | undefined;
  /** Everything it printed so far. */
  output: () => string;
  fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Sends a signal and waits for the end. Resolves to the exit code; null after a kill. */
  end: (signal: NodeJS.Signals) => Promise<number | null>;
};

const BOOT_MS = 60_000;
const POLL_MS = 25;

/** An empty data folder. */
export const newDataDir = () => mkdtemp(path.join(tmpdir(), "homeport-service-"));

/** Starts the service as `npm start` does, with the given variables, and waits until it answers. */
export async function startService(env: Record<string, string> = {}): Promise<Service> {
  const port = await freePort();
  const dataDir = env.DATA_DIR ?? (await newDataDir());
  const { child, output } = spawnService({ PORT: String(port), HOST: "127.0.0.1", DATA_DIR: dataDir, ...env });
  const url = `http://127.0.0.1:${port}`;
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill(signal);
    const [code] = (await once(child, "exit")) as [number | null];
    return code;
  };
  const give = Date.now() + BOOT_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > give) throw new Error(`The service did not start:\n${output()}`);
    await delay(POLL_MS);
  }
  return { url, dataDir, pid: child.pid, output, end, fetch: (to, init) => fetch(`${url}${to}`, init) };
}

/** The same for one test, after which it is killed. */
export async function startForTest(env?: Record<string, string>): Promise<Service> {
  const service = await startService(env);
  onTestFinished(async () => void (await service.end("SIGKILL")));
  return service;
}

/** Starts the service where it is expected to refuse. Resolves to how it ended and what it said. */
export async function startAndFail(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const { child, output } = spawnService({ HOST: "127.0.0.1", ...env });
  const [code] = (await once(child, "exit")) as [number | null];
  return { code, output: output() };
}

function spawnService(env: Record<string, string>): { child: ChildProcess; output: () => string } {
  const [command, args] = env.BY_NPM ? ["npm", ["start"]] : [process.execPath, ["scripts/start.mjs"]];
  const child = spawn(command, args, {
    env: {
      NODE_ENV: "production",
      PATH: process.env.PATH ?? "",
      BCRYPT_COST: "10",
      BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const keep = (chunk: Buffer) => {
    text += chunk;
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  return { child, output: () => text };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/api/health?probe=live`)).ok;
  } catch {
    return false;
  }
}
