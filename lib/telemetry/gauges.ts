import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";

const TIMEOUT_MS = 1_000;

/**
 * Gauges whose values the database knows, `help` by their names, and the function that brings them up to date. They
 * have no value while `read` gives no answer in time.
 */
export function watchGauges<Name extends string>(
  prom: typeof import("prom-client"),
  registry: Registry,
  help: Record<Name, string>,
  read: () => Promise<Record<Name, number> | undefined>,
): () => Promise<void> {
  const names = Object.keys(help) as Name[];
  const gauges = names.map((name) => new prom.Gauge({ name, help: help[name], registers: [registry] }));
  let question: Promise<Record<Name, number> | undefined> | undefined;
  return async () => {
    // One question at a time: a late answer is still waited for before the next.
    question ??= read()
      .catch(() => undefined)
      .finally(() => {
        question = undefined;
      });
    const values = await Promise.race([question, delay(TIMEOUT_MS, undefined, { ref: false })]);
    for (const [i, name] of names.entries()) {
      gauges[i]?.remove();
      if (values) gauges[i]?.set(values[name]);
    }
  };
}
