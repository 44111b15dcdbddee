import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { writeSampleCatalog } from "../../lib/releases/sample/sample-catalog";
import {
  createMachines,
  cutPower,
  IPS,
  install,
  type Machine,
  Program,
  readOf,
  runOn,
  variablesOf,
  writeTo,
} from "./machines";

export const AUTHORIZATION = "Bearer drill";
export const URL = `http://${IPS.app1}`;
export type DatabaseMachine = "db1" | "db2";
const DATABASES: DatabaseMachine[] = ["db1", "db2"];
const APPS = ["app1", "app2"] as const;
const PASSWORD = "long-and-random";
const MAX_WAIT_MS = 120_000;
/** As docs/deploy.md says for PgBouncer. */
const ROLE = [
  ["TimeZone", "UTC"],
  ["lock_timeout", "5s"],
  ["statement_timeout", "8s"],
  ["idle_in_transaction_session_timeout", "15s"],
  ["jit", "off"],
];

/** Resolves when `check` is true. @throws Error that says what has not come */
export async function until(what: string, check: () => boolean | Promise<boolean>, maxMs = MAX_WAIT_MS): Promise<void> {
  for (const endMs = Date.now() + maxMs; ; await delay(250)) {
    if (await Promise.resolve(check()).catch(() => false)) return;
    if (Date.now() > endMs) throw new Error(`${what}: not within ${maxMs / 1000} s`);
  }
}

/** Patroni, etcd, HAProxy, PgBouncer and two instances, by the files of deploy/ha. */
export class HaCluster {
  readonly #programs: Program[] = [];

  /** Starts everything, and resolves when both instances are healthy and the standby is synchronous. */
  static async start(): Promise<HaCluster> {
    const cluster = new HaCluster();
    createMachines();
    for (const name of ["db1", "db2", "app1"] as const) cluster.#addEtcd(name);
    for (const name of DATABASES) cluster.#addPatroni(name);
    for (const name of APPS) cluster.#addProxies(name);
    for (const program of cluster.#programs) program.start();
    await cluster.healthyDatabase();
    await cluster.#createDatabase();
    await writeSampleCatalog("/mnt/releases/catalog.json");
    for (const name of APPS) cluster.#addInstance(name);
    const env = cluster.#environment("app1");
    runOn("app1", "root", [process.execPath, "scripts/run.mjs", "db-migrate"], env);
    for (const name of APPS) cluster.program(name, "homeport").start();
    for (const name of APPS) await cluster.healthy(name);
    return cluster;
  }

  program(machine: Machine, name: string): Program {
    const found = this.#programs.find((program) => program.machine === machine && program.name === name);
    if (!found) throw new Error(`${machine} has no ${name}`);
    return found;
  }

  /** Ends a machine at once; `boot` starts it again. */
  cutPower = (name: Machine) => cutPower(name);

  boot(name: Machine): void {
    for (const program of this.#programs) if (program.machine === name) program.start();
  }

  async primary(): Promise<DatabaseMachine> {
    for (const name of DATABASES) {
      if (await isOk(`http://${IPS[name]}:8008/primary`)) return name;
    }
    throw new Error("there is no primary");
  }

  /** Waits for a primary with a synchronous standby. */
  healthyDatabase = () =>
    until("a primary with a synchronous standby", async () => {
      const primary = await this.primary();
      const standby = DATABASES.find((name) => name !== primary) ?? "db2";
      return isOk(`http://${IPS[standby]}:8008/sync`);
    });

  healthy = (name: Machine) => until(`${name} healthy`, () => isOk(`http://${IPS[name]}:3001/api/health`));

  /** Runs a query on the primary, past PgBouncer and HAProxy. */
  async query(sql: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    const host = IPS[await this.primary()];
    const client = new Client({ host, user: "homeport", password: PASSWORD, database: "homeport" });
    await client.connect();
    const { rows } = await client.query(sql, values);
    await client.end();
    return rows;
  }

  #addEtcd(name: Machine): void {
    const ip = IPS[name];
    const instead = { "ETCD_NAME=db1": `ETCD_NAME=${name}`, "URLS=http://10.0.0.11": `URLS=http://${ip}` };
    install(name, "etcd", "etc/patroni/etcd", instead);
    const env = variablesOf(readOf(name, "etc/patroni/etcd"));
    this.#programs.push(new Program(name, "etcd", "postgres", ["etcd"], env));
  }

  #addPatroni(name: DatabaseMachine): void {
    const ip = IPS[name];
    install(name, "patroni.yml", "etc/patroni/config.yml", {
      "name: db1": `name: ${name}`,
      "10.0.0.11:8008": `${ip}:8008`,
      "10.0.0.11,127": `${ip},127`,
      "10.0.0.11:5432": `${ip}:5432`,
    });
    this.#programs.push(new Program(name, "patroni", "postgres", ["patroni", "/etc/patroni/config.yml"]));
  }

  #addProxies(name: Machine): void {
    install(name, "haproxy.cfg", "etc/haproxy/haproxy.cfg");
    install(name, "pgbouncer.ini", "etc/pgbouncer/pgbouncer.ini");
    writeTo(name, "etc/pgbouncer/userlist.txt", `"homeport" "${PASSWORD}"\n`);
    this.#programs.push(
      new Program(name, "haproxy", "root", ["haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"]),
    );
    this.#programs.push(new Program(name, "pgbouncer", "postgres", ["pgbouncer", "/etc/pgbouncer/pgbouncer.ini"]));
  }

  #environment(name: Machine): Record<string, string> {
    install(name, "homeport.env", "etc/patroni/homeport.env");
    return {
      ...variablesOf(readOf(name, "etc/patroni/homeport.env")),
      PORT: "3001",
      DATA_DIR: `/mnt/${name}/homeport`,
      RELEASE_CATALOG: "/mnt/releases/catalog.json",
      NEXTAUTH_URL: URL,
      NEXTAUTH_SECRET: "a-secret-for-the-drill-that-is-long-enough",
      BILLING_WEBHOOK_AUTHORIZATION: AUTHORIZATION,
      BCRYPT_COST: "10",
      RATE_LIMITS: "off",
      NODE_ENV: "production",
    };
  }

  #addInstance(name: Machine): void {
    mkdirSync(`/mnt/${name}/homeport`);
    const start = [process.execPath, path.resolve("scripts/start.mjs")];
    this.#programs.push(new Program(name, "homeport", "root", start, this.#environment(name)));
  }

  async #createDatabase(): Promise<void> {
    const primary = await this.primary();
    const psql = (sql: string) =>
      runOn(primary, "postgres", ["psql", "-h", "/run/postgresql", "-v", "ON_ERROR_STOP=1", "-c", sql]);
    psql(`CREATE ROLE homeport LOGIN PASSWORD '${PASSWORD}'`);
    psql("CREATE DATABASE homeport OWNER homeport");
    for (const [name, value] of ROLE) psql(`ALTER ROLE homeport SET ${name} = '${value}'`);
  }
}

async function isOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status === 200;
  } catch {
    return false;
  }
}

/** What the drill needs besides Node.js, as Debian's commands. */
const COMMANDS = ["patroni", "etcd", "haproxy", "pgbouncer", "ip", "unshare", "setpriv"];

export const missingCommands = () =>
  COMMANDS.filter((command) => {
    try {
      execFileSync("sh", ["-c", `command -v ${command}`]);
      return false;
    } catch {
      return true;
    }
  });
