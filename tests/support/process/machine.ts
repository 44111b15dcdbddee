import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { freePort } from "@/dev/free-port";
import packageManifest from "@/package.json" with { type: "json" };
import { startProxyServer } from "@/tests/support/network/proxy-server";
import { NODE_FLAGS } from "./command";

/** What a checkout takes as it is here, so that nothing is built anew. */
const SAME = [
  ".next",
  "app",
  "clients",
  "deploy",
  "lib",
  "node_modules",
  "public",
  "scripts",
  "instrumentation.ts",
  "next.config.ts",
  "package-lock.json",
  "proxy.ts",
  "server.ts",
  "tsconfig.json",
  "worker.ts",
];
/** Commands that need root, another machine or systemd: what they do to the folder, or the harness does for them. */
const SHIMS = `set -eu
control() { curl -sS --fail-with-body --data-binary "$(printf '%s\\n' "$@")" "$CONTROL"; }
sudo() { if [ "$1" = -u ]; then shift 2; fi; "$@"; }
adduser() { :; }
install() { if [ "$4" = -g ]; then set -- "\${@:1:3}" "\${@:6}"; fi; command install "$@"; }
git() { control git "\${@: -1}"; }
systemctl() { control systemctl "$@"; }
npm() { if [ "$1" = ci ] || [ "$2" = build ]; then test -f package.json; else command npm "$@"; fi; }
nginx() { control nginx "$@"; }
homeport() { node scripts/run.mjs homeport "$@"; } # the program itself would leave this folder, whose scripts are a link
`;

type Process = { child: ChildProcess; output: () => string };

/** A machine as docs/deploy.md describes it, in a folder of its own: the guide's commands run as they stand there. */
export class Machine {
  readonly #root: string;
  readonly #control: Server;
  readonly #env: Record<string, string>;
  /** The guide's ports and folders, and what they are here. */
  readonly #names: ReadonlyMap<string, string>;
  readonly #processes = new Map<string, Process>();
  readonly ports: { first: number; second: number; https: number; http: number };

  private constructor(root: string, control: Server, ports: Machine["ports"], env: Record<string, string>) {
    [this.#root, this.#control, this.ports, this.#env] = [root, control, ports, env];
    const folders = ["/srv", "/etc", "/var", "/usr/local"].map((name): [string, string] => [
      name,
      path.join(root, name),
    ]);
    this.#names = new Map([["3001", `${ports.first}`], ["3002", `${ports.second}`], ...folders]);
  }

  /** An empty machine. `env` is what its commands see beside PATH: where PostgreSQL is. */
  static async start(env: Record<string, string> = {}): Promise<Machine> {
    const root = await mkdtemp(path.join(tmpdir(), "homeport-machine-"));
    for (const name of [
      "etc/systemd/system",
      "etc/nginx/conf.d",
      "etc/caddy",
      "var/lib/homeport",
      "var/backups",
      "usr/local/bin",
    ]) {
      await mkdir(path.join(root, name), { recursive: true });
    }
    await mkdir(path.join(root, "srv"));
    const control = createServer().listen(0, "127.0.0.1");
    await once(control, "listening");
    const [first, second, https, http] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const machine = new Machine(root, control, { first, second, https, http }, env);
    control.on("request", async (incoming, outgoing) => {
      let text = "";
      for await (const chunk of incoming) text += chunk;
      const [command = "", ...args] = text.split("\n");
      const said = await machine.#obey(command, args).catch((error: Error) => error);
      outgoing.writeHead(said instanceof Error ? 500 : 200).end(said instanceof Error ? `${said.stack}\n` : said);
    });
    return machine;
  }

  /** A file of the machine's, by its name there. */
  path = (name: string) => path.join(this.#root, name);

  /** Runs the shell commands below a heading of the guide, or the n-th block of them. Resolves to what they print. */
  async run(heading: string, n?: number): Promise<string> {
    const blocks = blocksOf(heading, "sh");
    const script = this.#localize(blocks.slice(n, n === undefined ? undefined : n + 1).join(""));
    if (script === "") throw new Error(`The guide has no commands below ${heading}`);
    const { port } = this.#control.address() as AddressInfo;
    const env = { PATH: process.env.PATH, HOME: this.#root, CONTROL: `http://127.0.0.1:${port}`, ...this.#env };
    const { stdout } = await promisify(execFile)("bash", ["-c", `${SHIMS}${script}`], {
      cwd: await realpath(this.path("srv/homeport/current")).catch(() => this.#root),
      env: { NODE_ENV: "production", ...env },
    });
    return stdout;
  }

  /** Adds the settings below a heading of the guide to /etc/homeport/env, with `instead` for some of their values. */
  async configure(heading: string, instead: Record<string, string> = {}): Promise<void> {
    const settings = this.#localize(blocksOf(heading, "ini").join("")).trim().split("\n");
    const kept = settings.filter((line) => !(line.slice(0, line.indexOf("=")) in instead));
    const others = Object.entries(instead).map(([name, value]) => `${name}=${value}`);
    const file = this.path("etc/homeport/env");
    const before = await readFile(file, "utf8").catch(() => "");
    await writeFile(file, `${before}${[...kept, ...others].join("\n")}\n`);
  }

  /** Starts the proxy whose settings the guide's commands have put in their place, on the machine's own ports. */
  startProxy(kind: "nginx" | "caddy"): Promise<() => Promise<void>> {
    return startProxyServer(kind, this.#root, this.ports, (text) => this.#localize(text));
  }

  /** What the processes that ran as a unit have printed. */
  output = (unit: string) => this.#processes.get(this.#localize(unit))?.output() ?? "";

  async remove(): Promise<void> {
    for (const unit of this.#processes.keys()) await this.#end(unit, "SIGKILL");
    this.#control.close();
    this.#control.closeAllConnections();
    await rm(this.#root, { recursive: true, force: true });
  }

  /** In one pass: a port of this machine may contain a name of the guide's. */
  #localize(text: string): string {
    const names = new RegExp([...this.#names.keys()].join("|"), "g");
    return text.replace(names, (name) => this.#names.get(name) ?? name);
  }

  async #obey(command: string, args: string[]): Promise<string> {
    if (command === "nginx") return "";
    if (command === "git") return this.#checkOut(args[0] ?? "");
    const [verb = "", ...rest] = args;
    for (const unit of rest.filter((arg) => !arg.startsWith("--"))) {
      if (verb === "freeze") this.#processes.get(unit)?.child.kill("SIGSTOP");
      if (verb === "thaw") this.#processes.get(unit)?.child.kill("SIGCONT");
      if (verb === "stop" || verb === "restart") await this.#end(unit, "SIGTERM");
      if (verb === "start" || verb === "restart" || verb === "enable") await this.#startUnit(unit);
    }
    return "";
  }

  /** A release: this build under another version, which every later one begins with a migration of its own. */
  async #checkOut(folder: string): Promise<string> {
    const version = path.basename(folder);
    await mkdir(folder, { recursive: true });
    for (const name of SAME) await symlink(path.resolve(name), path.join(folder, name));
    await cp("prisma", path.join(folder, "prisma"), { recursive: true, preserveTimestamps: true });
    await writeFile(path.join(folder, "package.json"), JSON.stringify({ ...packageManifest, version }));
    if (version !== packageManifest.version) {
      const migration = path.join(folder, "prisma/migrations/99991231235959_next_release");
      await mkdir(migration);
      await writeFile(path.join(migration, "migration.sql"), 'ALTER TABLE "Account" ADD COLUMN "later" TEXT;\n');
    }
    return "";
  }

  async #startUnit(unit: string): Promise<void> {
    const [name = "", instance = ""] = unit.split(/(?<=@)/);
    const text = readFileSync(this.path(`etc/systemd/system/${name}.service`), "utf8");
    const settings = this.#localize(text).replaceAll("%i", instance);
    const of = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(settings)?.[1] ?? "";
    const variables = of("Environment")
      .split(" ")
      .filter((entry) => !entry.startsWith("METRICS_PORT")); // of five digits here
    const [, ...args] = of("ExecStart").split(" ");
    const child = spawn(process.execPath, [...NODE_FLAGS, ...args], {
      cwd: of("WorkingDirectory"),
      env: { PATH: process.env.PATH, ...Object.fromEntries(variables.map((entry) => entry.split("="))) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    this.#processes.set(unit, { child, output: () => output });
  }

  async #end(unit: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#processes.get(unit)?.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGCONT");
    child.kill(signal);
    await once(child, "exit");
  }
}

/** The fenced blocks of a language below a heading of the guide, as far as the next heading. */
export function blocksOf(heading: string, language: string): string[] {
  const sections = readFileSync("docs/deploy.md", "utf8").split(/^#{2,3} /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const blocks = section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...blocks].flatMap(([, of, text = ""]) => (of === language ? [text] : []));
}
