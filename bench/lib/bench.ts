import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { startCluster } from "../../dev/postgres";
import { writeCatalog } from "../fixtures/catalog";
import { stopAll } from "./server";

export const SIGNING_SECRET = "the bench's webhook signing secret";

/** What all workloads share: PostgreSQL with fsync, a release catalog, and a temporary folder. */
export type Bench = {
  folder: string;
  /** A connection to Homeport's database. */
  database: Client;
  /** Homeport's environment, without PORT. */
  env: Record<string, string>;
  parseDatabaseUrl: string;
  /** The large file of the catalog, in `folder`. */
  file: string;
  close: () => Promise<void>;
};

/** Builds Homeport, starts PostgreSQL and writes the catalog. */
export async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(path.join(tmpdir(), "homeport-bench-"));
  const cluster = await startCluster({ durable: true });
  const database = new Client({ connectionString: cluster.url });
  const close = async () => {
    await stopAll();
    await database.end();
    cluster.remove();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await database.connect();
    await database.query("CREATE DATABASE parse");
    const { manifest, file } = await writeCatalog(path.join(folder, "releases"));
    const env = productEnv(folder, cluster.url, manifest);
    run("node", ["scripts/build.mjs"], env);
    run("npm", ["run", "--silent", "db:migrate"], env);
    return { folder, database, env, parseDatabaseUrl: cluster.url.replace(/[^/]*$/, "parse"), file, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function productEnv(folder: string, databaseUrl: string, catalog: string): Record<string, string> {
  const dataDir = path.join(folder, "data");
  mkdirSync(dataDir);
  return {
    HOST: "127.0.0.1",
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a secret of the bench, longer than thirty-two characters",
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
  execFileSync(command, args, { env: { PATH, HOME, ...env }, stdio: ["ignore", "ignore", "pipe"] });
}
