import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { TestProject } from "vitest/node";
import { embeddedAdapter } from "@/lib/db/embedded/adapter";
import { applyMigrations } from "@/lib/db/migrations";

declare module "vitest" {
  interface ProvidedContext {
    /** A migrated PGlite folder that workers copy; empty where TEST_DATABASE_URL is set. */
    templateDir: string;
  }
}

/** Migrates one database that every worker copies: creating one takes seconds, copying it a moment. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = await mkdtemp(path.join(tmpdir(), "homeport-tests-"));
  await chmod(root, 0o755); // a test's PostgreSQL runs as another user
  process.env.TMPDIR = root; // whatever the tests leave behind goes with it
  const templateDir = process.env.TEST_DATABASE_URL ? "" : path.join(root, "db");
  if (templateDir) {
    const pglite = await PGlite.create({ dataDir: path.join(root, "made") });
    await applyMigrations(await embeddedAdapter(pglite));
    await pglite.close();
    await cp(path.join(root, "made"), templateDir, { recursive: true });
  }
  project.provide("templateDir", templateDir);
  return () => rm(root, { recursive: true, force: true });
}
