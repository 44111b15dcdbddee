import { stat } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import type { Config } from "../../config";
import { loadManifest } from "./manifest";
import { laySampleDown } from "./sample";
import type { Snapshot } from "./snapshot";

const POLL_MS = 1_000;

export type Catalog = {
  /** The last good one; null before there was any. */
  current: () => Snapshot | null;
  /**
   * "warn": the last good one is in use, since what came after cannot be read; or there never was one, and
   * nobody said where it should be. "error": the one that was named was never read.
   */
  state: () => "ok" | "warn" | "error";
  /** Looks for a changed manifest now rather than within the second. Never fails: a broken one is logged. */
  refresh: () => Promise<void>;
  close: () => void;
};

/**
 * Opens the release catalog: the manifest at `RELEASE_CATALOG`, else `DATA_DIR/releases/catalog.json`, where
 * embedded mode lays a sample down. Follows the manifest's changes. A missing or broken one does not stop the
 * boot: version and downloads answer catalog_unavailable until it is there.
 */
export async function openCatalog(config: Config, log: Logger): Promise<Catalog> {
  const named = config.RELEASE_CATALOG ?? path.join(config.DATA_DIR, "releases", "catalog.json");
  const file = path.resolve(/* turbopackIgnore: true */ named);
  const isNamed = config.RELEASE_CATALOG !== undefined;
  if (config.mode === "embedded" && !isNamed) await trySample(file, log);
  const catalog = followManifest(file, isNamed || config.mode === "embedded", log);
  await catalog.refresh();
  return catalog;
}

async function trySample(file: string, log: Logger): Promise<void> {
  try {
    if (await laySampleDown(file)) log.info({ file }, "sample release catalog laid down");
  } catch (error) {
    log.error({ err: error, file }, "no sample release catalog could be laid down");
  }
}

function followManifest(file: string, isExpected: boolean, log: Logger): Catalog {
  let snapshot: Snapshot | null = null;
  let isGood = false;
  let lastSeen = "";
  let lastFault = "";

  const look = async () => {
    const seen = await fingerprint(file);
    if (seen === lastSeen) return;
    lastSeen = seen; // taken before reading: what is written meanwhile shows as another change
    try {
      snapshot = await loadManifest(file, log);
      isGood = true;
      lastFault = "";
      log.info({ file }, "release catalog loaded");
    } catch (error) {
      isGood = false;
      if (error instanceof Error && "errno" in error) lastSeen = ""; // the disk's fault: tried again
      if (lastFault === `${seen} ${error}`) return;
      lastFault = `${seen} ${error}`;
      log.error(
        { err: error, file },
        `release catalog refused: ${snapshot ? "the last good one stays" : "there is none"}`,
      );
    }
  };

  let looking = Promise.resolve();
  let waiting = 0;
  const refresh = () => {
    waiting += 1;
    looking = looking.then(look).finally(() => {
      waiting -= 1;
    });
    return looking;
  };
  const timer = setInterval(() => waiting === 0 && void refresh(), POLL_MS).unref();
  return {
    current: () => snapshot,
    state: () => (isGood ? "ok" : snapshot || !isExpected ? "warn" : "error"),
    refresh,
    close: () => clearInterval(timer),
  };
}

/** What changes whenever the file does; for a file that cannot be looked at, why. */
async function fingerprint(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(file, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    return `unreadable: ${(error as NodeJS.ErrnoException).code}`;
  }
}
