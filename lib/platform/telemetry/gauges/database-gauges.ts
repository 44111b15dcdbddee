import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";

const TIMEOUT_MS = 1_000;
/** The maximum number of rows that a gauge counts, which bounds the cost of a scrape. */
export const MAX_COUNTED_ROWS = 100_000;

/**
 * Creates gauges whose values come from the database, and returns the function that updates them. `help` contains the
 * help text of each gauge by name. The gauges have no value if `read` fails or times out.
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
    // One query at a time: during a slow query, the next scrape waits for it instead of starting another.
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
