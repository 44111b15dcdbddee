import type { Worker } from "node:cluster";
import type { Registry } from "prom-client";

/** What the supervisor sends to a process of WEB_CONCURRENCY to get its metrics. */
const REQUEST = "homeport:metrics";
/** How long a busy process may take to reply. After that, its last known metrics are used. */
const TIMEOUT_MS = 2_000;

type Metrics = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;
type MetricsReply = { metrics: Metrics };

/** Sends this process's metrics when the supervisor requests them. */
export function replyToSupervisor(read: () => Promise<Registry>): void {
  process.on("message", async (message) => {
    if (message !== REQUEST) return;
    const metrics = await read()
      .then((registry) => registry.getMetricsAsJSON())
      .catch(() => null); // the supervisor uses the last known metrics
    if (metrics) process.send?.({ metrics } satisfies MetricsReply);
  });
}

/**
 * Sums the metrics of processes. The last known counts of a process stay in the sum after its end, so that counters
 * never decrease.
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
          const reply = await requestMetrics(worker);
          if (reply && !worker.isDead()) latest.set(worker, reply.metrics);
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

function requestMetrics(worker: Worker): Promise<MetricsReply | null> {
  return new Promise((resolve) => {
    const settle = (reply: MetricsReply | null) => {
      clearTimeout(timer);
      worker.off("message", onMessage);
      resolve(reply);
    };
    const onMessage = (message: Partial<MetricsReply>) => {
      if (message.metrics) settle({ metrics: message.metrics });
    };
    const timer = setTimeout(settle, TIMEOUT_MS, null);
    worker.on("message", onMessage);
    worker.send(REQUEST, (error) => error && settle(null));
  });
}
