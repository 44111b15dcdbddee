import cluster from "node:cluster";
import path from "node:path";
import type { Logger } from "pino";
import { type Config, loadConfig } from "../config";
import { stopOnSignals } from "../startup/signals";
import { serveMetrics } from "../telemetry/export/metrics-server";
import { createProcessMetrics } from "../telemetry/export/process-metrics";
import { createLog } from "../telemetry/log";
import { ProcessPool } from "./process-pool";

/**
 * Runs WEB_CONCURRENCY processes of the service on one port, if there are to be several. SIGHUP replaces them one after
 * the other, by the build that `script` then leads to; SIGTERM and SIGINT end them. The supervisor itself serves nothing
 * but the metrics. `env` has the variables of the environment and of .env.
 * Resolves to whether it runs them.
 */
export async function supervise(env: Record<string, string | undefined>, script: string): Promise<boolean> {
  try {
    const config = loadConfig(env);
    if (config.WEB_CONCURRENCY === 1) return false;
    await run(config, script);
    return true;
  } catch (error) {
    process.stderr.write(`Homeport cannot start: ${(error as Error).message}\n`);
    process.exit(1);
  }
}

async function run({ WEB_CONCURRENCY: size, LOG_LEVEL, ...config }: Config, script: string): Promise<void> {
  const log = createLog(LOG_LEVEL);
  // The folder as it was named: after an upgrade a symbolic link leads to the new build.
  cluster.setupPrimary({ exec: script, cwd: path.dirname(path.dirname(script)), args: [] });
  const metrics = config.METRICS_PORT === undefined ? null : await createProcessMetrics();
  const pool = new ProcessPool(log, (worker) => void metrics?.end(worker));
  const stop = () => {
    log.info("stopping the processes");
    return pool.stop();
  };
  stopOnSignals(stop, () => pool.kill());
  if (config.METRICS_PORT !== undefined && metrics) {
    await openMetrics(pool, metrics, log, { port: config.METRICS_PORT, host: config.METRICS_HOST });
  }
  const started = pool.start(size);
  process.on("SIGHUP", async () => (await started) && pool.reload());
  if (!(await started)) process.exit(1);
}

type ProcessMetrics = Awaited<ReturnType<typeof createProcessMetrics>>;

/** Serves the sum of the processes' metrics, and the supervisor's own. */
async function openMetrics(
  pool: ProcessPool,
  metrics: ProcessMetrics,
  log: Logger,
  address: { port: number; host: string },
): Promise<void> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  new Gauge({ name: "process_start_time_seconds", help: "Start time of the supervisor.", registers }).set(
    Date.now() / 1000 - process.uptime(),
  );
  const processes = new Gauge({ name: "homeport_processes", help: "Processes that serve requests.", registers });
  const restarts = new Counter({
    name: "homeport_process_restarts_total",
    help: "Processes that have ended by themselves and were replaced.",
    registers,
  });
  const read = async () => {
    const workers = pool.ready();
    processes.set(workers.length);
    restarts.reset();
    restarts.inc(pool.restarts);
    return `${await metrics.read(workers)}\n${await registry.metrics()}`;
  };
  await serveMetrics(read, registry.contentType, log, address);
}
