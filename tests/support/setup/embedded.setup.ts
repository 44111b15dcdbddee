import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { openEmbedded } from "@/lib/platform/db/embedded/open";

declare module "vitest" {
  interface ProvidedContext {
    /** A data folder with a migrated embedded database, for tests to copy. */
    templateDataDir: string;
  }
}

/**
 * Migrates one embedded database that all tests copy: a copy takes milliseconds, a new database seconds. Where there is a
 * build, it is that of the build. It is synced, so that services need not sync their copies when they start.
 */
export default async function setup(project: TestProject): Promise<void> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "homeport-template-"));
  const { migrate, close } = await openEmbedded(dataDir, true, { isMigrated: true });
  await migrate();
  await close();
  project.provide("templateDataDir", dataDir);
}
