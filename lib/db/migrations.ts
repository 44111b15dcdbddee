import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { MigrationList, SchemaEngine } from "@prisma/schema-engine-wasm";

// npm runs every script of the project from its root.
const SCHEMA = path.resolve("prisma/schema.prisma");
const MIGRATIONS = path.resolve("prisma/migrations");
const ENGINE = path.resolve("node_modules/@prisma/schema-engine-wasm");
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/** The names of the migrations in the repository, oldest first. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(MIGRATIONS, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/**
 * Applies what is missing of `names`, or of all migrations, each in a transaction of its own. Returns the names of the
 * migrations applied.
 * @throws Error with the migration's name where the database refuses one; nothing of it is left, and the next call
 * tries it again.
 */
export async function applyMigrations(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  names?: readonly string[],
): Promise<string[]> {
  const { engine, errorOf } = await openEngine(adapter);
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: await listMigrations(names ?? (await migrationNames())),
      filters: NO_FILTERS,
    });
    return appliedMigrationNames;
  } catch (error) {
    const refused = refusal(error, errorOf);
    if (!refused) throw error;
    await engine.markMigrationRolledBack({ migrationName: refused.migration });
    throw new Error(`${refused.migration} is refused, and nothing of it is left: ${refused.reason}`);
  } finally {
    engine.free();
  }
}

type Factory = SqlMigrationAwareDriverAdapterFactory;

/** An adapter whose own way of running a migration's script will not do: `run` does it instead. */
export function withScripts<Adapter extends Awaited<ReturnType<Factory["connect"]>>>(
  factory: Omit<Factory, "connect"> & { connect: () => Promise<Adapter> },
  run: (adapter: Adapter, script: string) => Promise<unknown>,
): Factory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const adapter = await factory.connect();
      adapter.executeScript = async (script) => void (await run(adapter, script));
      return adapter;
    },
  };
}

/** What the database itself said of a migration; null for all else, as a broken connection, after which nobody knows. */
function refusal(error: unknown, errorOf: ErrorOf): { migration: string; reason: string } | null {
  const text = String((error as Error).message);
  const migration = /migration_name="([^"]+)"/.exec(text)?.[1];
  const cause = errorOf(Number(/External error id#(\d+)/.exec(text)?.[1]));
  return migration && isFromServer(cause) ? { migration, reason: cause.message } : null;
}

/** PostgreSQL 17, 55.8: what the server reports has a severity. */
const isFromServer = (error: unknown): error is Error => error instanceof Error && "severity" in error;

/** The SQL that takes the database as it is to `schema.prisma`; empty where they agree. */
export async function diffToSchema(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string> {
  const files = [{ path: SCHEMA, content: await readFile(SCHEMA, "utf8") }];
  const { engine } = await openEngine(adapter);
  try {
    const { stdout } = await engine.diff({
      from: { tag: "schemaDatasource", files, configDir: path.dirname(SCHEMA) },
      to: { tag: "schemaDatamodel", files },
      script: true,
      exitCode: null,
      filters: NO_FILTERS,
    });
    const sql = (stdout ?? "").trim();
    return sql === "-- This is an empty migration." ? "" : sql;
  } finally {
    engine.free();
  }
}

/** Prisma's own schema engine as WebAssembly: the CLI would download a native one. */
async function openEngine(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<Opened> {
  loading ??= loadEngine();
  const { SchemaEngine } = await loading;
  const datamodels: [string, string][] = [[SCHEMA, await readFile(SCHEMA, "utf8")]];
  const bound = bindMigrationAwareSqlAdapterFactory(adapter);
  const engine = await SchemaEngine.new({ datamodels }, () => {}, bound);
  return { engine, errorOf: (id) => bound.errorRegistry.consumeError(id)?.error };
}

/** The engine knows the adapter's errors by number. */
type ErrorOf = (id: number) => unknown;
type Opened = { engine: SchemaEngine; errorOf: ErrorOf };

let loading: Promise<Glue> | undefined;

/** Once a process: the glue keeps views of the first instance's memory. */
async function loadEngine(): Promise<Glue> {
  // By file, since the package exports only an entry that needs a loader for WebAssembly modules.
  const file = pathToFileURL(path.join(ENGINE, "schema_engine_bg.js")).href;
  const glue: Glue = await import(/* turbopackIgnore: true */ /* @vite-ignore */ file);
  const wasm = await readFile(path.join(ENGINE, "schema_engine_bg.wasm"));
  const { instance } = await WebAssembly.instantiate(wasm, { "./schema_engine_bg.js": withUnheldTimers(glue) });
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return glue;
}

/** The engine leaves the timer of its lock running, which would keep a finished process for ten seconds. */
function withUnheldTimers(glue: Glue): WebAssembly.ModuleImports {
  const unheld = (run: () => void, ms: number) => setTimeout(run, ms).unref();
  const entries = Object.entries(glue).map(([name, fn]) => [name, name.startsWith("__wbg_setTimeout_") ? unheld : fn]);
  return Object.fromEntries(entries);
}

type Glue = typeof import("@prisma/schema-engine-wasm") & { __wbg_set_wasm: (exports: WebAssembly.Exports) => void };

async function listMigrations(names: readonly string[]): Promise<MigrationList> {
  return {
    baseDir: MIGRATIONS,
    lockfile: {
      path: "migration_lock.toml",
      content: await readFile(path.join(MIGRATIONS, "migration_lock.toml"), "utf8"),
    },
    shadowDbInitScript: "",
    migrationDirectories: await Promise.all(
      names.map(async (name) => ({
        path: name,
        migrationFile: {
          path: "migration.sql",
          content: { tag: "ok" as const, value: await readFile(path.join(MIGRATIONS, name, "migration.sql"), "utf8") },
        },
      })),
    ),
  };
}
