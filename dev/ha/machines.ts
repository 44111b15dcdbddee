import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** The machines of deploy/ha, as network namespaces that a bridge connects. */
export const IPS = { db1: "10.0.0.11", db2: "10.0.0.12", app1: "10.0.0.21", app2: "10.0.0.22" } as const;
export type Machine = keyof typeof IPS;
const MACHINES = Object.keys(IPS) as Machine[];

/** A file system that ends with the mount namespace. */
const ROOT = "/mnt";
export const LOGS = path.join(ROOT, "logs");
/** The folders that each machine has for itself. */
const OWN = [
  "/etc/patroni",
  "/etc/pgbouncer",
  "/etc/haproxy",
  "/var/lib/etcd",
  "/var/log/postgresql",
  "/run/postgresql",
];
/** The disk of PostgreSQL, which can become full. */
const DISK = "/var/lib/postgresql";
const DISK_SIZE = "1500m";

const ip = (...args: string[]) => execFileSync("ip", args);
const mountTmpfs = (folder: string, size: string) => {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
};

/** Creates the machines, with an IP address and empty folders each. */
export function createMachines(): void {
  mountTmpfs("/run/netns", "1m");
  mountTmpfs(ROOT, "512m");
  mkdirSync(LOGS);
  ip("link", "set", "lo", "up");
  ip("link", "add", "ha", "type", "bridge");
  ip("addr", "add", "10.0.0.1/24", "dev", "ha");
  ip("link", "set", "ha", "up");
  for (const name of MACHINES) {
    ip("netns", "add", name);
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("link", "set", name, "master", "ha", "up");
    ip("-n", name, "addr", "add", `${IPS[name]}/24`, "dev", "eth0");
    ip("-n", name, "link", "set", "eth0", "up");
    ip("-n", name, "link", "set", "lo", "up");
    for (const folder of OWN) mkdirSync(path.join(ROOT, name, folder), { recursive: true });
    mountTmpfs(diskOf(name), DISK_SIZE);
    execFileSync("chown", ["-R", "postgres:postgres", path.join(ROOT, name)]);
    execFileSync("chmod", ["-R", "a+rX", path.join(ROOT, name)]);
  }
}

export const diskOf = (name: Machine) => path.join(ROOT, name, DISK);

/** Writes a file of deploy/ha to a machine, with `instead` for some of its texts. @throws Error if one is not in it */
export function install(name: Machine, template: string, target: string, instead: Record<string, string> = {}): void {
  const text = Object.entries(instead).reduce(
    (all, [there, here]) => {
      if (!all.includes(there)) throw new Error(`${template} does not contain ${there}`);
      return all.replaceAll(there, here);
    },
    readFileSync(path.join("deploy/ha", template), "utf8"),
  );
  writeTo(name, target, text);
}

export function writeTo(name: Machine, target: string, text: string): void {
  writeFileSync(path.join(ROOT, name, target), text);
}

/** The variables of a file of deploy/ha. */
export function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]));
}

export const readOf = (name: Machine, file: string) => readFileSync(path.join(ROOT, name, file), "utf8");

const inMachine = (name: Machine, user: string, command: string[]) => {
  const binds = [...OWN, DISK].map((folder) => `mount --bind ${ROOT}/${name}${folder} ${folder}`);
  const run = `exec setpriv --reuid=${user} --regid=${user} --init-groups "$@"`;
  return ["netns", "exec", name, "unshare", "--mount", "sh", "-ec", [...binds, run].join("\n"), "sh", ...command];
};

/** A program of a machine, that can be ended and started again. */
export class Program {
  #child: ChildProcess | undefined;

  constructor(
    readonly machine: Machine,
    readonly name: string,
    private readonly user: string,
    private readonly command: string[],
    private readonly env: Record<string, string> = {},
  ) {}

  start(): void {
    const log = openSync(path.join(LOGS, `${this.machine}-${this.name}.log`), "a");
    const env = {
      NODE_ENV: "production" as const,
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      LANG: "C.UTF-8",
      ...this.env,
    };
    this.#child = spawn("ip", inMachine(this.machine, this.user, this.command), { env, stdio: ["ignore", log, log] });
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }
}

/** Runs a command on a machine. Returns what it prints. */
export const runOn = (name: Machine, user: string, command: string[], env: Record<string, string> = {}): string =>
  execFileSync("ip", inMachine(name, user, command), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  }).toString();

/** Ends everything on a machine at once, as a power failure does. */
export function cutPower(name: Machine): void {
  const pids = ip("netns", "pids", name).toString().split("\n").filter(Boolean);
  for (const pid of pids) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // its parent's end has ended it
    }
  }
}

/** Takes a machine off the network, or puts it back. */
export const setLink = (name: Machine, state: "up" | "down") => ip("link", "set", name, state);
