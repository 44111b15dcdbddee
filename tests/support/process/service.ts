import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { freePort } from "@/dev/free-port";
import { readOperatorAccess } from "@/lib/platform/files/operator-file";
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { copyEmbeddedDatabase, createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { NODE_FLAGS } from "./command";

export type Service = {
  url: string;
  dataDir: string;
  pid: number | undefined;
  /** Everything it printed so far. */
  output: () => string;
  /** The standard output alone: the log. */
  log: () => string;
  fetch: (path: string, init?: RequestInit) => Promise<Response>;
  post: (path: string, json: unknown, headers?: Record<string, string>) => Promise<Response>;
  /** Sends a signal and waits for the end. Resolves to the exit code; null after a kill. */
  end: (signal: NodeJS.Signals) => Promise<number | null>;
};

const BOOT_MS = 120_000;
const POLL_MS = 25;

/** An empty data folder. */
export const newDataDir = () => mkdtemp(path.join(tmpdir(), "homeport-service-"));

/** A data folder whose database is created and migrated, so that a start takes a fraction of a first one. */
export async function preparedDataDir(folder?: string): Promise<string> {
  const dataDir = folder ?? (await newDataDir());
  await copyEmbeddedDatabase(dataDir);
  return dataDir;
}

/**
 * The variable of a new, migrated database on the run's PostgreSQL server, for tests that do not depend on which database
 * it is: a service takes half the CPU time to start on it. Without such a server, none. On PostgreSQL there are no sample
 * releases.
 */
export const anyDatabase = async (): Promise<Record<string, string>> =>
  postgresUrl ? { DATABASE_URL: await createMigratedDatabase() } : {};

/** What the service requires with DATABASE_URL. */
const required = (port: number) => ({
  NEXTAUTH_URL: `http://localhost:${port}`,
  NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
});

/**
 * Starts the service as `npm start` does, with the given variables, and waits until it responds. Its data folder is
 * a prepared one unless DATA_DIR or DATABASE_URL says otherwise.
 */
export async function startService(
  env: Record<string, string> = {},
  script?: Script,
  folder?: string,
): Promise<Service> {
  const port = Number(env.PORT) || (await freePort());
  const dataDir = env.DATA_DIR ?? (await (env.DATABASE_URL ? newDataDir() : preparedDataDir()));
  const address = { PORT: String(port), HOST: "127.0.0.1", ...(env.DATABASE_URL && required(port)) };
  const variables = { ...address, DATA_DIR: dataDir, ...env };
  const { child, output, log } = spawnService(variables, script, folder);
  const url = `http://127.0.0.1:${port}`;
  const give = Date.now() + BOOT_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > give) throw new Error(`The service did not start:\n${output()}`);
    await delay(POLL_MS);
  }
  const get: Service["fetch"] = (to, init) => fetch(`${url}${to}`, init);
  const post: Service["post"] = (to, json, headers) =>
    get(to, {
      method: "POST",
      body: JSON.stringify(json),
      headers: { "content-type": "application/json", ...headers },
    });
  return { url, dataDir, pid: child.pid, output, log, end: enderOf(child), fetch: get, post };
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Registers somebody new at a service. Returns them with a bearer token. */
export async function registerAt(
  service: Pick<Service, "post">,
  fields: { email?: string; name?: string; deviceName?: string } = {},
  headers?: Record<string, string>,
) {
  const person = { email: `person-${randomUUID()}@example.com`, password: "a good long password", ...fields };
  const response = await service.post("/api/auth/register", person, headers);
  if (response.status !== 201) throw new Error(`register returned ${response.status}: ${await response.text()}`);
  const { user, token } = (await response.json()) as { user: { id: string }; token: string };
  return { ...person, id: user.id, token };
}

/** The key of a service's commands, which may do everything. The service writes it before it responds. */
export async function operatorKeyOf({ dataDir }: Pick<Service, "dataDir">): Promise<string> {
  const key = readOperatorAccess(dataDir)?.key;
  if (!key) throw new Error("The service did not write operator.json");
  return key;
}

/** Starts `npm run worker` for one test, after which it is killed, and waits until it is ready. */
export async function startWorkerForTest(env: Record<string, string>): Promise<Pick<Service, "output" | "end">> {
  const { child, output } = spawnService(env, "worker");
  const end = enderOf(child);
  onTestFinished(async () => void (await end("SIGKILL")));
  const give = Date.now() + BOOT_MS;
  while (!output().includes("ready")) {
    if (child.exitCode !== null || Date.now() > give) throw new Error(`The worker did not start:\n${output()}`);
    await delay(POLL_MS);
  }
  return { output, end };
}

function enderOf(child: ChildProcess): Service["end"] {
  return async (signal) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill(signal);
    const [code] = (await once(child, "exit")) as [number | null];
    return code;
  };
}

/** The same for one test, after which it is killed; from the package in `folder`, if it is given. */
export async function startForTest(env?: Record<string, string>, script?: Script, folder?: string): Promise<Service> {
  const service = await startService(env, script, folder);
  onTestFinished(async () => void (await service.end("SIGKILL")));
  return service;
}

/** Starts the service where it is expected to refuse. Resolves to how it ended and what it said. */
export async function startAndFail(
  env: Record<string, string>,
  script?: Script,
): Promise<{ code: number | null; output: string }> {
  const { child, output } = spawnService({ HOST: "127.0.0.1", ...env }, script);
  const [code] = (await once(child, "exit")) as [number | null];
  return { code, output: output() };
}

/** `npm start` and `npm run worker` as npm runs them, `npm start` by npm itself, and `next start`. */
type Script = "start" | "worker" | "npm start" | "next start";

const COMMANDS: Record<Script, [command: string, ...args: string[]]> = {
  start: [process.execPath, ...NODE_FLAGS, "scripts/start.mjs"],
  worker: [process.execPath, ...NODE_FLAGS, "scripts/worker.mjs"],
  "npm start": ["npm", "start"],
  "next start": [process.execPath, ...NODE_FLAGS, "node_modules/.bin/next", "start", "--hostname", "127.0.0.1"],
};

function spawnService(env: Record<string, string>, script: Script = "start", folder?: string) {
  const [command, ...args] = COMMANDS[script];
  // As in the guide's unit: a script by its whole path.
  const inFolder = folder === undefined ? args : [...args.slice(0, -1), path.join(folder, args.at(-1) ?? "")];
  const child = spawn(command, inFolder, {
    cwd: folder,
    detached: script === "npm start", // a group of its own, which a test can signal
    env: {
      NODE_ENV: "production",
      PATH: process.env.PATH ?? "",
      BCRYPT_COST: "10",
      BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [text, log] = ["", ""];
  const keep = (chunk: Buffer) => {
    text += chunk;
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.stdout.on("data", (chunk: Buffer) => {
    log += chunk;
  });
  return { child, output: () => text, log: () => log };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/api/health?probe=live`)).ok;
  } catch {
    return false;
  }
}
