import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { makeLeader } from "./leader";

/** How long a process may take until it listens, and until it ends after a signal. The service takes at most 40 s. */
const START_MS = 120_000;
const STOP_MS = 45_000;
/** After a process that ran this long the next one starts at once. After others the wait doubles. */
const STABLE_MS = 60_000;
const MIN_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

type PooledProcess = { worker: Worker; startedAtMs: number; isReady: boolean; isLeaving: boolean };

/** Keeps processes of the service running. One of them is the leader: it does what one process alone does. */
export class ProcessPool {
  readonly #processes = new Set<PooledProcess>();
  readonly #log: Logger;
  readonly #onEnd: (worker: Worker) => void;
  #leader: PooledProcess | undefined;
  #isStopping = false;
  #isReloading = false;
  #isReloadDue = false;
  #failures = 0;
  /** How many processes have ended by themselves. */
  restarts = 0;

  constructor(log: Logger, onEnd: (worker: Worker) => void) {
    [this.#log, this.#onEnd] = [log, onEnd];
  }

  /** The processes that serve requests. */
  ready(): Worker[] {
    return [...this.#processes].filter(({ isReady }) => isReady).map(({ worker }) => worker);
  }

  /**
   * Starts `size` processes, the first one alone: it reports what is wrong, for example that the port is in use. Resolves
   * to false if the first process does not start; to true also if the processes are told to stop in the meantime.
   */
  async start(size: number): Promise<boolean> {
    if (!(await this.#add())) return this.#isStopping;
    await Promise.all(Array.from({ length: size - 1 }, () => this.#add()));
    if (!this.#isStopping)
      this.#log.info({ processes: this.ready().length }, "serving requests with several processes");
    return true;
  }

  /** Starts a process. Resolves to whether it listens; otherwise it has ended. */
  #add(): Promise<boolean> {
    const worker = cluster.fork();
    const pooled: PooledProcess = { worker, startedAtMs: Date.now(), isReady: false, isLeaving: false };
    this.#processes.add(pooled);
    const timer = setTimeout(() => worker.process.kill("SIGKILL"), START_MS);
    return new Promise((resolve) => {
      worker.once("listening", () => {
        clearTimeout(timer);
        pooled.isReady = true;
        this.#chooseLeader();
        resolve(true);
      });
      worker.once("exit", (code, signal) => {
        clearTimeout(timer);
        this.#processes.delete(pooled);
        this.#onEnd(worker);
        this.#chooseLeader();
        resolve(false);
        if (pooled.isReady && !pooled.isLeaving) void this.#replace(pooled, { code, signal });
      });
    });
  }

  /** Replaces the processes one after the other: each ends once its successor listens. */
  async reload(): Promise<void> {
    this.#isReloadDue = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    while (this.#isReloadDue && !this.#isStopping) {
      this.#isReloadDue = false;
      this.#log.info("replacing the processes one after the other");
      if (await this.#replaceAll()) this.#log.info("the processes are replaced");
      else if (!this.#isStopping) this.#log.error("the new process did not start: those that run stay");
    }
    this.#isReloading = false;
  }

  /** Ends all processes, which finish their requests. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#processes].map((pooled) => this.#end(pooled)));
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const { worker } of this.#processes) worker.process.kill("SIGKILL");
  }

  #chooseLeader(): void {
    if (this.#leader && this.#processes.has(this.#leader) && !this.#leader.isLeaving) return;
    const next = [...this.#processes].find(({ isReady, isLeaving }) => isReady && !isLeaving);
    if (!next || this.#isStopping) return;
    makeLeader(next.worker, this.#leader === undefined);
    this.#leader = next;
  }

  async #replace(
    { worker, startedAtMs }: PooledProcess,
    how: { code: number | null; signal: string | null },
  ): Promise<void> {
    this.restarts += 1;
    if (Date.now() - startedAtMs > STABLE_MS) this.#failures = 0;
    this.#log.error({ pid: worker.process.pid, ...how }, "a process has ended: another one takes its place");
    do {
      const waitMs = this.#failures === 0 ? 0 : Math.min(MAX_WAIT_MS, MIN_WAIT_MS * 2 ** (this.#failures - 1));
      this.#failures += 1;
      await delay(waitMs);
    } while (!this.#isStopping && !(await this.#add()));
  }

  async #replaceAll(): Promise<boolean> {
    for (const old of [...this.#processes]) {
      if (this.#isStopping) return false;
      if (!this.#processes.has(old)) continue; // its successor is new
      if (!(await this.#add())) return false;
      await this.#end(old);
    }
    return true;
  }

  async #end(pooled: PooledProcess): Promise<void> {
    pooled.isLeaving = true;
    this.#chooseLeader();
    if (pooled.worker.isDead()) return;
    const ended = once(pooled.worker, "exit");
    pooled.worker.process.kill("SIGTERM");
    const timer = setTimeout(() => pooled.worker.process.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  }
}
