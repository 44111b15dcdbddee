/**
 * A second signal that comes sooner is the first one again: npm passes on what the terminal or the control group has sent
 * the service already.
 */
const MIN_INTERVAL_MS = 1_000;

/** The first SIGTERM or SIGINT stops the process in order, a second one at once, by `kill`. */
export function stopOnSignals(stop: () => Promise<void>, kill = (): unknown => process.exit(1)): void {
  let firstAtMs: number | undefined;
  const handle = async () => {
    const atMs = performance.now();
    if (firstAtMs !== undefined && atMs - firstAtMs >= MIN_INTERVAL_MS) kill();
    if (firstAtMs !== undefined) return;
    firstAtMs = atMs;
    await stop();
    process.exit(0);
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
}
