import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Logger, pino } from "pino";
import { afterEach, beforeEach, onTestFinished } from "vitest";
import { type Context, setContext } from "@/lib/context";
import { type Catalog, openCatalog } from "@/lib/releases/catalog/catalog";
import { openGuardedCatalog } from "@/lib/releases/policy/guarded-catalog";
import { createScheduledCatalog } from "@/lib/releases/rollouts/scheduled-catalog";
import { ctx } from "@/tests/support/context";

/** A folder that is removed after the test. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-catalog-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a catalog as a service with these settings does. It is closed after the test. */
export async function openForTest(
  change: Partial<ReturnType<typeof ctx>["config"]>,
  log: Logger = pino({ level: "silent" }),
): Promise<Catalog> {
  const catalog = await openCatalog({ ...ctx().config, ...change }, log);
  onTestFinished(catalog.close);
  return catalog;
}

/** The versions of Windows' core that the stable channel sees. */
export const versionsOf = (catalog: Catalog) =>
  catalog
    .current()
    ?.releasesByChannel.get("windows/core/x64/stable")
    ?.map(({ version }) => version.version);

/**
 * Gives each test of a file a data folder and a catalog of its own, so that other files do not get what it publishes.
 */
export function isolateDataFolder(): void {
  let usual: Context;
  beforeEach(async () => {
    usual = ctx();
    const DATA_DIR = await newFolder();
    const { db, dbNow, log, now } = usual;
    const config = { ...usual.config, DATA_DIR };
    const opened = await openForTest({ DATA_DIR, mode: "server" }); // the other mode would write the samples
    const { catalog, policies } = await openGuardedCatalog({ catalog: opened, config, db, dbNow, log });
    const scheduled = createScheduledCatalog({ catalog, db, log, now });
    setContext({ ...usual, ...scheduled, policies, config });
  });
  afterEach(() => setContext(usual));
}
