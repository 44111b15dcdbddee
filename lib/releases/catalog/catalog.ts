import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config";
import { writeSampleCatalog } from "../sample/sample-catalog";
import { fileSource } from "./file-source";
import { type Capabilities, loadSnapshot } from "./manifest";
import type { ManifestSource } from "./manifest-source";
import type { Snapshot } from "./snapshot";
import { urlSource } from "./url-source";

/** How long a start waits for a catalog that is not on this machine. */
const BOOT_WAIT_MS = 5_000;

export type Catalog = {
  /** The last good one; null before there was any. */
  current: () => Snapshot | null;
  /**
   * "warn": the last good one is in use, since what came after cannot be read; or there never was one, and
   * nobody said where it should be. "error": the one that was named was never read.
   */
  state: () => "ok" | "warn" | "error";
  /** Looks for a changed manifest now rather than at the next poll. Never fails: a broken one is logged. */
  refresh: () => Promise<void>;
  close: () => void;
};

/**
 * Opens the release catalog: the manifest at `RELEASE_CATALOG`, a path or an address, else
 * `DATA_DIR/releases/catalog.json`, where embedded mode lays a sample down. Follows the manifest's changes. A
 * missing or broken one does not stop the boot: version and downloads answer catalog_unavailable until it is there.
 */
export async function openCatalog(config: Config, log: Logger): Promise<Catalog> {
  const { RELEASE_CATALOG: named, DATA_DIR, mode } = config;
  const isExpected = named !== undefined || mode === "embedded";
  const means = { canPresign: config.RELEASE_S3_ENDPOINT !== undefined };
  if (isCatalogUrl(named)) {
    const source = urlSource(named, path.resolve(/* turbopackIgnore: true */ DATA_DIR, "releases"));
    const catalog = followSource({ source, isExpected, means, log }, await recall(source, means, log));
    await Promise.race([catalog.refresh(), delay(BOOT_WAIT_MS, undefined, { ref: false })]);
    return catalog;
  }
  const file = path.resolve(/* turbopackIgnore: true */ named ?? path.join(DATA_DIR, "releases", "catalog.json"));
  if (mode === "embedded" && named === undefined) await trySample(file, log);
  const catalog = followSource({ source: fileSource(file), isExpected, means, log }, null);
  await catalog.refresh();
  return catalog;
}

/** Whether `RELEASE_CATALOG` names an address rather than a path. */
export function isCatalogUrl(named: string | undefined): named is string {
  return named !== undefined && /^https?:\/\//i.test(named);
}

async function trySample(file: string, log: Logger): Promise<void> {
  try {
    if (await writeSampleCatalog(file)) log.info({ file }, "sample release catalog laid down");
  } catch (error) {
    log.error({ err: error, file }, "no sample release catalog could be laid down");
  }
}

async function recall(source: ManifestSource, means: Capabilities, log: Logger): Promise<Snapshot | null> {
  try {
    const kept = await source.readCached?.();
    return kept ? await loadSnapshot(kept, means, log) : null;
  } catch (error) {
    log.error({ err: error, catalog: source.name }, "the kept release catalog cannot be used");
    return null;
  }
}

type Following = { source: ManifestSource; isExpected: boolean; means: Capabilities; log: Logger };

function followSource({ source, isExpected, means, log }: Following, recalled: Snapshot | null): Catalog {
  let snapshot = recalled;
  let isLastReadGood = false;
  let isGood = false;
  let lastFault = "";

  const refuse = (error: unknown) => {
    isGood = false;
    if (lastFault === String(error)) return;
    lastFault = String(error);
    const message = `release catalog refused: ${snapshot ? "the last good one stays" : "there is none"}`;
    log.error({ err: error, catalog: source.name }, message);
  };
  const keep = (found: Parameters<NonNullable<ManifestSource["writeCached"]>>[0]) =>
    source.writeCached?.(found).catch((error) => log.warn({ err: error }, "the release catalog could not be kept"));
  const look = async () => {
    try {
      const found = await source.read();
      lastFault = found ? "" : lastFault;
      if (found) {
        isLastReadGood = false;
        snapshot = await loadSnapshot(found, means, log);
        isLastReadGood = true;
        log.info({ catalog: source.name }, "release catalog loaded");
        await keep(found);
      }
      isGood = isLastReadGood;
      if (isGood) lastFault = "";
    } catch (error) {
      refuse(error);
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
  const timer = setInterval(() => waiting === 0 && void refresh(), source.pollMs).unref();
  return {
    current: () => snapshot,
    state: () => (isGood ? "ok" : snapshot || !isExpected ? "warn" : "error"),
    refresh,
    close: () => {
      clearInterval(timer);
      source.close?.();
    },
  };
}
