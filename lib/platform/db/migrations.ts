import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { MigrationList, SchemaEngine } from "@prisma/schema-engine-wasm";

// npm runs the project's scripts in its root folder.
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

export function readMigration(name: string): Promise<string> {
  return readFile(path.join(MIGRATIONS, name, "migration.sql"), "utf8");
}

/**
 * Applies the pending migrations among `names`, or all pending migrations, each in a separate transaction. Returns the
 * names of the applied migrations.
 * @throws Error with the migration's name if a migration fails. The migration is rolled back, and the next call retries
 * it.
 */
export async function applyMigrations(adapter: SqlMigrationAwareDriverAdapterFactory, names?: readonly string[]) {
  const { engine, errorOf } = await openEngine(adapter);
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: await listMigrations(names ?? (await migrationNames())),
      filters: NO_FILTERS,
    });
    return appliedMigrationNames;
  } catch (error) {
    const failure = findFailure(error, errorOf);
    if (!failure) throw error;
    await engine.markMigrationRolledBack({ migrationName: failure.migration });
    throw new Error(`${failure.migration} failed and was rolled back: ${failure.reason}`);
  } finally {
    engine.free();
  }
}

/**
 * Returns the failed migration and the database's error message. Returns null for any other error: after a broken
 * connection, for example, it is unknown whether the migration was applied.
 */
function findFailure(error: unknown, errorOf: ErrorOf): { migration: string; reason: string } | null {
  const text = String((error as Error).message);
  const migration = /migration_name="([^"]+)"/.exec(text)?.[1];
  const cause = errorOf(Number(/External error id#(\d+)/.exec(text)?.[1]));
  return migration && isFromServer(cause) ? { migration, reason: cause.message } : null;
}

/** Errors that the server reports have a severity (PostgreSQL 17, 55.8). */
const isFromServer = (error: unknown): error is Error => error instanceof Error && "severity" in error;

/** Returns the SQL that changes the database's current schema to `schema.prisma`; empty if they are the same. */
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

/** Opens Prisma's schema engine as WebAssembly. Prisma's CLI would download a native engine. */
async function openEngine(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<Opened> {
  loading ??= loadEngine();
  const { SchemaEngine } = await loading;
  const datamodels: [string, string][] = [[SCHEMA, await readFile(SCHEMA, "utf8")]];
  const bound = bindMigrationAwareSqlAdapterFactory(adapter);
  const engine = await SchemaEngine.new({ datamodels }, () => {}, bound);
  return { engine, errorOf: (id) => bound.errorRegistry.consumeError(id)?.error };
}

/** Returns the adapter's error for the number in the engine's error message. */
type ErrorOf = (id: number) => unknown;
type Opened = { engine: SchemaEngine; errorOf: ErrorOf };

let loading: Promise<Glue> | undefined;

/** Loads the engine. Called once per process: the generated module keeps views of the first instance's memory. */
async function loadEngine(): Promise<Glue> {
  // Imported by path: the package's only export needs a loader for WebAssembly modules.
  const file = pathToFileURL(path.join(ENGINE, "schema_engine_bg.js")).href;
  const glue: Glue = await import(/* turbopackIgnore: true */ /* @vite-ignore */ file);
  const wasm = await readFile(path.join(ENGINE, "schema_engine_bg.wasm"));
  const { instance } = await WebAssembly.instantiate(wasm, { "./schema_engine_bg.js": withUnrefTimers(glue) });
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return glue;
}

/** Unrefs the engine's timers: the timer of its lock would keep a finished process alive for ten seconds. */
function withUnrefTimers(glue: Glue): WebAssembly.ModuleImports {
  const setUnrefTimeout = (run: () => void, ms: number) => setTimeout(run, ms).unref();
  const entries = Object.entries(glue).map(([name, fn]) => [
    name,
    name.startsWith("__wbg_setTimeout_") ? setUnrefTimeout : fn,
  ]);
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
        migrationFile: { path: "migration.sql", content: { tag: "ok" as const, value: await readMigration(name) } },
      })),
    ),
  };
}
