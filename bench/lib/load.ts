import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";

/** What a load came to. `count` is requests, unless a workload says otherwise. */
export type Load = { count: number; seconds: number; p50Ms: number; p99Ms: number };

/** One request. `expect` is the status it has to be answered with; another one fails the load, or goes to `onOther`. */
export type Shot = {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
  expect: number;
  onOther?: (status: number) => void;
};

/**
 * Keeps `connections` requests on the way until the time is over or `next` has no more, and waits for the last.
 * @throws Error at the first answer with another status.
 */
export async function flatOut(
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
  next: () => Shot | null,
): Promise<Load> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const took: number[] = [];
  const startedAt = performance.now();
  const client = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      const shot = next();
      if (!shot) return;
      const sentAt = performance.now();
      await fire(pool, shot);
      took.push(performance.now() - sentAt);
    }
  };
  await finish(pool, Array.from({ length: connections }, client));
  return summarize(took, (performance.now() - startedAt) / 1000);
}

/** Sends at a steady rate, whatever the answers do; latency counts from when a request was due. */
export async function steady(
  url: string,
  { perSecond, seconds }: { perSecond: number; seconds: number },
  next: () => Shot,
): Promise<Load> {
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  const took: number[] = [];
  const startedAt = performance.now();
  const shots = Array.from({ length: perSecond * seconds }, async (_, i) => {
    const dueAt = startedAt + (i * 1000) / perSecond;
    await delay(dueAt - performance.now());
    const from = Math.min(dueAt, performance.now()); // timers may be early by a millisecond
    await fire(pool, next());
    took.push(performance.now() - from);
  });
  await finish(pool, shots);
  return summarize(took, (performance.now() - startedAt) / 1000);
}

/** Sends one request and reads its answer. @throws Error for another status than expected, where nobody asks for it. */
async function fire(pool: Pool, { expect, onOther, ...request }: Shot): Promise<void> {
  const { statusCode, body } = await pool.request(request);
  const text = await body.text();
  if (statusCode === expect) return;
  if (!onOther) throw new Error(`${request.path} answered ${statusCode}: ${text.slice(0, 500)}`);
  onOther(statusCode);
}

async function finish(pool: Pool, work: Promise<void>[]): Promise<void> {
  try {
    await Promise.all(work);
  } finally {
    await pool.destroy();
  }
}

/** A load's figures from how long each request took, in milliseconds. */
export function summarize(tookMs: number[], seconds: number): Load {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
  return { count: sorted.length, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}
