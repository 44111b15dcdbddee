import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { Hasher } from "../../context";
import { AppError } from "../../errors";

/** A task that waited longer than `maxWaitMs` is rejected when a thread becomes free. Without it tasks wait forever. */
export type HasherPoolOptions = { threads: number; maxQueued: number; maxWaitMs?: number };

type Task = { password: string; cost: number } | { password: string; hash: string };
type Job = { task: Task; queuedAtMs: number; resolve: (result: unknown) => void; reject: (reason: unknown) => void };
type Thread = { worker: Worker; job: Job | null };

/** JavaScript, so that Node runs it without a compiler. npm runs every script in the repository's root. */
const WORKER_FILE = path.resolve("lib/auth/passwords/hash-worker.mjs");
const MAX_THREADS = 4;
const MAX_QUEUED_AT_COST_12 = 30;
/** Clients and proxies time out after 30 to 60 seconds. */
const MAX_WAIT_MS = 20_000;

/**
 * The size of a pool on this machine. The queue holds about 10 seconds of work: 30 tasks a thread at cost 12, and half as
 * many for each step of cost above. On a slower machine tasks are rejected after 20 seconds.
 */
export function hasherPoolSize(cost: number) {
  const threads = Math.min(MAX_THREADS, availableParallelism());
  const maxQueued = Math.ceil(threads * MAX_QUEUED_AT_COST_12 * 2 ** (12 - cost));
  return { threads, maxQueued, maxWaitMs: MAX_WAIT_MS };
}

/** Creates a pool. Threads start on demand. Idle threads do not keep the process alive. */
export function createHasher(size: HasherPoolOptions): Hasher {
  const threads = new Set<Thread>();
  const waiting: Job[] = [];
  let isClosed = false;

  const freeThread = (): Thread | undefined => {
    const free = [...threads].find(({ job }) => job === null);
    if (free || threads.size >= size.threads) return free;
    const thread = startThread(runNext, (ended) => {
      threads.delete(ended);
      runNext();
    });
    threads.add(thread);
    return thread;
  };
  // Assigns one job, and of those that take much memory one at a time: it is called again for each new job, finished job and ended thread.
  const assignNext = () => {
    const isBusy = [...threads].some(({ job }) => job && isMemoryHard(job.task));
    const job = waiting.find(({ task }) => !isBusy || !isMemoryHard(task));
    const thread = job && freeThread();
    if (!thread) return;
    waiting.splice(waiting.indexOf(job), 1);
    startJob(thread, job);
  };
  const runNext = () => {
    const deadlineMs = performance.now() - (size.maxWaitMs ?? Number.POSITIVE_INFINITY);
    for (let [job] = waiting; job && job.queuedAtMs <= deadlineMs; [job] = waiting) {
      waiting.shift();
      job.reject(new AppError("overloaded"));
    }
    assignNext();
  };
  const run = (task: Task): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new AppError("unavailable");
      waiting.push({ task, queuedAtMs: performance.now(), resolve, reject });
      assignNext();
      if (waiting.length <= size.maxQueued) return;
      waiting.pop();
      throw new AppError("overloaded");
    });
  return {
    hash: async (password, cost) => (await run({ password, cost })) as string,
    compare: async (password, hash) => (await run({ password, hash })) as boolean,
    isBusy: () => waiting.length > 0,
    close: async () => {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new AppError("unavailable"));
      await Promise.all([...threads].map(stopThread));
    },
  };
}

/** Starts a thread. Calls `onFree` after each job, and `onEnd` when the thread has ended. */
function startThread(onFree: () => void, onEnd: (thread: Thread) => void): Thread {
  // Without the process's flags: the file needs no loader, and workers refuse some flags of `node -e`.
  const worker = new Worker(WORKER_FILE, { execArgv: [] });
  const thread: Thread = { worker, job: null };
  let cause: unknown;
  worker.on("message", (result: unknown) => {
    thread.job?.resolve(result);
    thread.job = null;
    worker.unref();
    onFree();
  });
  worker.on("error", (error) => {
    cause = error;
  });
  worker.on("exit", (code) => {
    thread.job?.reject(new Error(`A hashing thread ended with code ${code}`, { cause }));
    onEnd(thread);
  });
  return thread;
}

/** Starts a job. A running job keeps the process alive. */
function startJob(thread: Thread, job: Job): void {
  thread.job = job;
  thread.worker.ref();
  thread.worker.postMessage(job.task);
}

/** Whether a task takes much memory: argon2 and scrypt, of imported hashes. */
function isMemoryHard(task: Task): boolean {
  return "hash" in task && /^\{\w+\}\$(argon2|scrypt|firebase)/.test(task.hash);
}

async function stopThread({ worker, job }: Thread): Promise<void> {
  job?.reject(new AppError("unavailable"));
  await worker.terminate();
}
