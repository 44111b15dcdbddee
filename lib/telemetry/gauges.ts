import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";

const TIMEOUT_MS = 1_000;

/**
 * Creates gauges whose values come from the database, with `help` by name, and returns the function that updates them.
 * They have no value while `read` does not respond in time.
 */
export function createDatabaseGauges<Name extends string>(
  prom: typeof import("prom-client"),
  registry: Registry,
  help: Record<Name, string>,
  read: () => Promise<Record<Name, number> | undefined>,
): () => Promise<void> {
  const names = Object.keys(help) as Name[];
  const gauges = names.map((name) => new prom.Gauge({ name, help: help[name], registers: [registry] }));
  let reading: Promise<Record<Name, number> | undefined> | undefined;
  return async () => {
    // One query at a time: the next scrape waits for a slow one instead of adding another.
    reading ??= read()
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    const values = await Promise.race([reading, delay(TIMEOUT_MS, undefined, { ref: false })]);
    for (const [i, name] of names.entries()) {
      gauges[i]?.remove();
      if (values) gauges[i]?.set(values[name]);
    }
  };
}
