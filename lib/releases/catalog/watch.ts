import type { Logger } from "pino";
import { type Capabilities, loadSnapshot } from "./manifest";
import type { ManifestSource, RawManifest } from "./manifest-source";
import type { Snapshot } from "./snapshot";

/** The release catalog of this process. */
export type Catalog = {
  /** The last valid catalog; null before the first one. */
  current: () => Snapshot | null;
  /**
   * "ok": the newest manifest is in use. "warn": the last valid one is in use because a newer one cannot be read, or no
   * catalog is configured. "error": the configured catalog has never been read.
   */
  state: () => "ok" | "warn" | "error";
  /** Checks for a changed manifest now. Never rejects: errors are logged. */
  refresh: () => Promise<void>;
  close: () => void;
};

type WatchOptions = {
  source: ManifestSource;
  /** The catalog is configured, so that a missing one is an error. */
  isExpected: boolean;
  capabilities: Capabilities;
  log: Logger;
};

/** Polls a source for changes of its manifest, starting from the `initial` snapshot. */
export function watchSource(options: WatchOptions, initial: Snapshot | null): Catalog {
  const { source, isExpected } = options;
  const { snapshot, isCurrent, reload } = createReloader(options, initial);
  const { run: refresh, isIdle } = serialize(reload);
  const timer = setInterval(() => isIdle() && void refresh(), source.pollMs).unref();
  return {
    current: snapshot,
    state: () => (isCurrent() ? "ok" : snapshot() || !isExpected ? "warn" : "error"),
    refresh,
    close: () => {
      clearInterval(timer);
      source.close?.();
    },
  };
}

/** Reads the manifest if it has changed. An invalid one leaves the snapshot as it is, and is logged once. */
function createReloader({ source, capabilities, log }: WatchOptions, initial: Snapshot | null) {
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
  const logOnce = (error: unknown) => {
    if (lastError === String(error)) return;
    lastError = String(error);
    const outcome = snapshot ? "the last valid one stays in use" : "no catalog is available";
    log.error({ err: error, catalog: source.name }, `release catalog rejected: ${outcome}`);
  };
  const reload = async () => {
    try {
      const manifest = await source.read();
      if (manifest) await load(manifest);
      isCurrent = isLastReadValid;
      if (isCurrent) lastError = "";
    } catch (error) {
      isCurrent = false;
      logOnce(error);
    }
  };
  return { snapshot: () => snapshot, isCurrent: () => isCurrent, reload };
}

/** Runs one call of `task` after the other. */
function serialize(task: () => Promise<void>) {
  let last = Promise.resolve();
  let pending = 0;
  const run = () => {
    pending += 1;
    last = last.then(task).finally(() => {
      pending -= 1;
    });
    return last;
  };
  return { run, isIdle: () => pending === 0 };
}
