import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { AppError } from "../../errors";

/** bcrypt on threads of its own, so that the event loop goes on meanwhile. */
export type Hasher = {
  /** @throws AppError overloaded; unavailable once closed */
  hash: (password: string, cost: number) => Promise<string>;
  /**
   * Whether the password belongs to the hash. A refusal takes as long as one of a hash at `cost`, or longer.
   * @throws AppError overloaded; unavailable once closed; Error for a hash that bcrypt cannot read
   */
  compare: (password: string, hash: string, cost: number) => Promise<boolean>;
  /** Whether something waits for a thread. */
  isBusy: () => boolean;
  /** Ends the threads. What is running or waiting is rejected. */
  close: () => Promise<void>;
};

/** A task that waited longer than `maxWaitMs` is rejected when a thread becomes free. Without it tasks wait for ever. */
export type PoolSize = { threads: number; maxQueued: number; maxWaitMs?: number };

type Task = { password: string; cost: number; hash?: string };
type Job = { task: Task; queuedAtMs: number; resolve: (answer: unknown) => void; reject: (reason: unknown) => void };
type Thread = { worker: Worker; job: Job | null };

/** JavaScript that Node runs as it is, whatever compiled this file. npm runs every script from the root. */
const WORKER_FILE = path.resolve("lib/auth/passwords/bcrypt-worker.mjs");
const MAX_THREADS = 4;
const MAX_QUEUED_AT_COST_12 = 30;
/** Clients and proxies wait for 30 seconds, most of them for 60. */
const MAX_WAIT_MS = 20_000;

/**
 * A pool for this machine, its queue as long as keeps the last in it from timing out: 30 a thread at cost 12,
 * which is some 10 seconds, and half as many for each step of cost above. Where the machine is slower or busy with
 * other things, the wait ends after 20.
 */
export function poolSize(cost: number) {
  const threads = Math.max(1, Math.min(MAX_THREADS, availableParallelism()));
  const maxQueued = Math.ceil(threads * MAX_QUEUED_AT_COST_12 * 2 ** (12 - cost));
  return { threads, maxQueued, maxWaitMs: MAX_WAIT_MS };
}

/** Makes a pool. Its threads start when there is work for them; idle ones do not keep the process. */
export function createHasher(size: PoolSize): Hasher {
  const threads = new Set<Thread>();
  const waiting: Job[] = [];
  let isClosed = false;

  const freeThread = (): Thread | undefined => {
    const free = [...threads].find(({ job }) => job === null);
    if (free || threads.size >= size.threads) return free;
    const thread = startThread(goOn, (gone) => {
      threads.delete(gone);
      goOn();
    });
    threads.add(thread);
    return thread;
  };
  // One at a time is enough: each new job, each one done and each thread gone asks again.
  const assign = () => {
    const [job] = waiting;
    const thread = job && freeThread();
    if (!thread) return;
    waiting.shift();
    give(thread, job);
  };
  const goOn = () => {
    const lateMs = performance.now() - (size.maxWaitMs ?? Number.POSITIVE_INFINITY);
    for (let [job] = waiting; job && job.queuedAtMs <= lateMs; [job] = waiting) {
      waiting.shift();
      job.reject(new AppError("overloaded"));
    }
    assign();
  };
  const run = (task: Task): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new AppError("unavailable");
      waiting.push({ task, queuedAtMs: performance.now(), resolve, reject });
      assign();
      if (waiting.length <= size.maxQueued) return;
      waiting.pop();
      throw new AppError("overloaded");
    });
  return {
    hash: async (password, cost) => (await run({ password, cost })) as string,
    compare: async (password, hash, cost) => (await run({ password, hash, cost })) as boolean,
    isBusy: () => waiting.length > 0,
    close: async () => {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new AppError("unavailable"));
      await Promise.all([...threads].map(stopThread));
    },
  };
}

/** Starts a thread. `onFree` is called after each job, `onEnd` once it is gone, whatever ended it. */
function startThread(onFree: () => void, onEnd: (thread: Thread) => void): Thread {
  // Without the flags of the process: a plain file needs no loader, and `node -e` passes some that it refuses.
  const worker = new Worker(WORKER_FILE, { execArgv: [] });
  const thread: Thread = { worker, job: null };
  let cause: unknown;
  worker.on("message", (answer: unknown) => {
    thread.job?.resolve(answer);
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

/** A thread at work keeps the process: who awaits a hash gets it. */
function give(thread: Thread, job: Job): void {
  thread.job = job;
  thread.worker.ref();
  thread.worker.postMessage(job.task);
}

async function stopThread({ worker, job }: Thread): Promise<void> {
  job?.reject(new AppError("unavailable"));
  await worker.terminate();
}
