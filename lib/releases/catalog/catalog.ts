import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { Config } from "../../platform/config";
import { writeSampleCatalog } from "../sample/sample-catalog";
import { type Capabilities, loadSnapshot } from "./manifest";
import { fileSource, type ManifestSource, type RawManifest } from "./manifest-source";
import type { Snapshot } from "./snapshot";
import { urlSource } from "./url-source";

export type Catalog = {
  /** The last valid catalog; null before the first one. */
  current: () => Snapshot | null;
  /** "warn": the last valid manifest is in use, or no catalog is configured. "error": it has never been read. */
  state: () => "ok" | "warn" | "error";
  /** Checks for a changed manifest now. Never rejects: errors are logged. */
  refresh: () => Promise<void>;
  close: () => void;
};

/** How long the start waits for a catalog at a URL. */
const START_TIMEOUT_MS = 5_000;

/**
 * Opens the release catalog and watches it for changes. Embedded mode writes the sample catalog, unless `hasSamples` is
 * false. Starts without a valid manifest: the service responds catalog_unavailable until there is one.
 */
export async function openCatalog(config: Config, log: Logger, { hasSamples = true } = {}): Promise<Catalog> {
  const { RELEASE_CATALOG: location, DATA_DIR, mode } = config;
  const isExpected = location !== undefined || mode === "embedded";
  const capabilities = { canPresign: config.RELEASE_S3_BUCKET !== undefined };
  if (isCatalogUrl(location)) {
    const source = urlSource(location, path.resolve(/* turbopackIgnore: true */ DATA_DIR, "releases"));
    const cached = await loadCached(source, capabilities, log);
    const catalog = watchSource({ source, isExpected, capabilities, log }, cached);
    await Promise.race([catalog.refresh(), delay(START_TIMEOUT_MS, undefined, { ref: false })]);
    return catalog;
  }
  const file = pathOf(config);
  if (mode === "embedded" && location === undefined && hasSamples) await tryWriteSample(file, log);
  const catalog = watchSource({ source: fileSource(file), isExpected, capabilities, log }, null);
  await catalog.refresh();
  return catalog;
}

/** The catalog's manifest: `RELEASE_CATALOG`, else `DATA_DIR/releases/catalog.json`. null: it is at a URL. */
export function catalogFileOf(config: Pick<Config, "RELEASE_CATALOG" | "DATA_DIR">): string | null {
  return isCatalogUrl(config.RELEASE_CATALOG) ? null : pathOf(config);
}

function pathOf({ RELEASE_CATALOG, DATA_DIR }: Pick<Config, "RELEASE_CATALOG" | "DATA_DIR">): string {
  return path.resolve(/* turbopackIgnore: true */ RELEASE_CATALOG ?? path.join(DATA_DIR, "releases", "catalog.json"));
}

function isCatalogUrl(location: string | undefined): location is string {
  return location !== undefined && /^https?:\/\//i.test(location);
}

async function tryWriteSample(file: string, log: Logger): Promise<void> {
  try {
    if (await writeSampleCatalog(file)) log.info({ file }, "sample release catalog written");
  } catch (error) {
    log.error({ err: error, file }, "sample release catalog could not be written");
  }
}

async function loadCached(source: ManifestSource, capabilities: Capabilities, log: Logger): Promise<Snapshot | null> {
  try {
    const manifest = await source.readCached?.();
    return manifest ? await loadSnapshot(manifest, capabilities, log) : null;
  } catch (error) {
    log.error({ err: error, catalog: source.name }, "cached release catalog cannot be used");
    return null;
  }
}

type WatchOptions = {
  source: ManifestSource;
  /** The catalog is configured, so that a missing one is an error. */
  isExpected: boolean;
  capabilities: Capabilities;
  log: Logger;
};

/** Polls a source for changes of its manifest. An invalid one leaves the snapshot as it is, and is logged once. */
function watchSource({ source, isExpected, capabilities, log }: WatchOptions, initial: Snapshot | null): Catalog {
  let snapshot = initial;
  let isLastReadValid = false;
  let isCurrent = false;
  let lastError = "";

  const load = async (manifest: RawManifest) => {
    lastError = "";
    isLastReadValid = false;
    snapshot = await loadSnapshot(manifest, capabilities, log);
    isLastReadValid = true;
    log.info({ catalog: source.name }, "release catalog loaded");
    await source
      .writeCached?.(manifest)
      .catch((error) => log.warn({ err: error }, "release catalog could not be cached"));
  };
  const reload = async () => {
    try {
      const manifest = await source.read();
      if (manifest) await load(manifest);
      isCurrent = isLastReadValid;
      if (isCurrent) lastError = "";
    } catch (error) {
      isCurrent = false;
      if (lastError === String(error)) return;
      lastError = String(error);
      const outcome = snapshot ? "the last valid one stays in use" : "no catalog is available";
      log.error({ err: error, catalog: source.name }, `release catalog rejected: ${outcome}`);
    }
  };
  const oneAtATime = pLimit(1);
  const refresh = () => oneAtATime(reload);
  const isIdle = () => oneAtATime.activeCount + oneAtATime.pendingCount === 0;
  const timer = setInterval(() => isIdle() && void refresh(), source.pollMs).unref();
  return {
    current: () => snapshot,
    state: () => (isCurrent ? "ok" : snapshot || !isExpected ? "warn" : "error"),
    refresh,
    close: () => {
      clearInterval(timer);
      source.close?.();
    },
  };
}
