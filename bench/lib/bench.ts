import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { createDatabase, startCluster } from "../../dev/postgres";
import { writeCatalog } from "../fixtures/catalog";
import { isSmoke } from "./scale";
import { stopAll } from "./server";

export const SIGNING_SECRET = "the bench's webhook signing secret";

/** What a workload uses. Its folder and its databases are its own, so the order of workloads does not matter. */
export type Bench = {
  folder: string;
  /** A connection to Homeport's database. */
  database: Client;
  /** Homeport's environment, without PORT. */
  env: Record<string, string> & { DATABASE_URL: string; NEXTAUTH_SECRET: string };
  parseDatabaseUrl: string;
  /** The large file of the release catalog. */
  file: string;
  close: () => Promise<void>;
};

/** `openWorkload` creates databases on a PostgreSQL cluster, which runs with fsync except in a smoke run, and a folder. */
export type Benches = { openWorkload: (name: string) => Promise<Bench>; close: () => Promise<void> };

/** Builds Homeport, starts PostgreSQL and writes a release catalog. */
export async function openBenches(): Promise<Benches> {
  const root = mkdtempSync(path.join(tmpdir(), "homeport-bench-"));
  const cluster = await startCluster({ durable: !isSmoke });
  const close = async () => {
    await stopAll();
    cluster.remove();
    rmSync(root, { recursive: true, force: true });
  };
  try {
    const catalog = await writeCatalog(path.join(root, "releases"));
    const template = await createDatabase(cluster.url);
    const env = productEnv(template, catalog.manifest);
    run("node", ["scripts/build.mjs"], env);
    run("npm", ["run", "--silent", "db:migrate"], env);
    const openWorkload = async (name: string): Promise<Bench> => {
      const folder = path.join(root, name);
      mkdirSync(path.join(folder, "data"), { recursive: true });
      const url = await createDatabase(cluster.url, new URL(template).pathname.slice(1));
      const database = new Client({ connectionString: url });
      database.on("error", () => {}); // an interrupted run stops the cluster first
      await database.connect();
      return {
        folder,
        database,
        env: { ...productEnv(url, catalog.manifest), DATA_DIR: path.join(folder, "data") },
        parseDatabaseUrl: await createDatabase(cluster.url),
        file: catalog.file,
        close: () => database.end(),
      };
    };
    return { openWorkload, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function productEnv(databaseUrl: string, catalog: string) {
  return {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a secret of the bench that is longer than thirty-two characters",
    RATE_LIMITS: "off",
    BCRYPT_COST: "10",
    BILLING_WEBHOOK_SIGNING_SECRET: SIGNING_SECRET,
    RELEASE_CATALOG: catalog,
    NEXT_TELEMETRY_DISABLED: "1",
  };
}

/** Runs a command in the repository. Its output is shown only if it fails. */
function run(command: string, args: string[], env: Record<string, string>): void {
  const { PATH = "", HOME = "" } = process.env;
  const own = { PATH, HOME, NODE_ENV: "production" as const };
  execFileSync(command, args, { env: { ...own, ...env }, stdio: ["ignore", "ignore", "pipe"] });
}
