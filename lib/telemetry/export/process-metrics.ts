import type { Worker } from "node:cluster";
import type { Registry } from "prom-client";

/** What the supervisor sends to a process of WEB_CONCURRENCY to get its metrics. */
const REQUEST = "homeport:metrics";
/** How long a busy process may take. Its metrics of the last time count after that. */
const TIMEOUT_MS = 2_000;

type Metrics = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;
type Answer = { metrics: Metrics };

/** Answers the supervisor with this process's metrics. */
export function answerSupervisor(read: () => Promise<Registry>): void {
  process.on("message", async (message) => {
    if (message !== REQUEST) return;
    const metrics = await read()
      .then((registry) => registry.getMetricsAsJSON())
      .catch(() => null); // the supervisor counts those of the last time
    if (metrics) process.send?.({ metrics } satisfies Answer);
  });
}

/**
 * Sums the metrics of processes. What a process has counted until it was last asked stays in the sum after its end, so
 * that counters never decrease.
 */
export async function createProcessMetrics() {
  const { AggregatorRegistry } = await import("prom-client");
  const latest = new Map<Worker, Metrics>();
  let ended: Metrics = [];
  const sum = (parts: Metrics[]) => AggregatorRegistry.aggregate(parts);
  const counted = (metrics: Metrics) => metrics.filter(({ type }) => COUNTED.includes(String(type)));
  return {
    read: async (workers: readonly Worker[]): Promise<string> => {
      await Promise.all(
        workers.map(async (worker) => {
          const answer = await ask(worker);
          if (answer && !worker.isDead()) latest.set(worker, answer.metrics);
        }),
      );
      return sum([...latest.values(), ended]).metrics();
    },
    end: async (worker: Worker): Promise<void> => {
      const last = latest.get(worker) ?? [];
      latest.delete(worker);
      ended = [...ended, ...counted(last)];
      ended = await sum([ended]).getMetricsAsJSON();
    },
  };
}

const COUNTED = ["counter", "histogram"];

function ask(worker: Worker): Promise<Answer | null> {
  return new Promise((resolve) => {
    const settle = (answer: Answer | null) => {
      clearTimeout(timer);
      worker.off("message", onMessage);
      resolve(answer);
    };
    const onMessage = (message: Partial<Answer>) => {
      if (message.metrics) settle({ metrics: message.metrics });
    };
    const timer = setTimeout(settle, TIMEOUT_MS, null);
    worker.on("message", onMessage);
    worker.send(REQUEST, (error) => error && settle(null));
  });
}
