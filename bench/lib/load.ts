import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { SCALE } from "./scale";

/** The outcome of a load. `count` is the number of requests, unless a workload documents another unit. */
export type LoadResult = { count: number; seconds: number; p50Ms: number; p99Ms: number };

/** One request. A status other than `expectedStatus` fails the load, unless `onUnexpectedStatus` handles it. */
export type RequestSpec = {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
  expectedStatus: number;
  onUnexpectedStatus?: (status: number) => void;
};

/**
 * Closed loop: keeps `connections` requests in flight until the time is over or `next` returns null.
 * @throws Error for the first unexpected status
 */
export async function runClosedLoop(
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
  next: () => RequestSpec | null,
): Promise<LoadResult> {
  const clients = Math.min(connections, SCALE.maxClients);
  const pool = new Pool(url, { connections: clients, pipelining: 1 });
  const took: number[] = [];
  const startedAt = performance.now();
  const client = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      const shot = next();
      if (!shot) return;
      const sentAt = performance.now();
      await send(pool, shot);
      took.push(performance.now() - sentAt);
    }
  };
  await finish(pool, Array.from({ length: clients }, client));
  return summarize(took, (performance.now() - startedAt) / 1000);
}

/** Open loop: sends at a constant rate. Latency counts from the time at which a request was due. */
export async function runAtRate(
  url: string,
  { perSecond, seconds }: { perSecond: number; seconds: number },
  next: () => RequestSpec,
): Promise<LoadResult> {
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  const took: number[] = [];
  const startedAt = performance.now();
  const requests = Array.from({ length: perSecond * seconds }, async (_, i) => {
    const dueAt = startedAt + (i * 1000) / perSecond;
    await delay(dueAt - performance.now());
    const from = Math.min(dueAt, performance.now()); // timers may be early by a millisecond
    await send(pool, next());
    took.push(performance.now() - from);
  });
  await finish(pool, requests);
  return summarize(took, (performance.now() - startedAt) / 1000);
}

/** Sends one request and reads the response. @throws Error for an unexpected status if the request has no `onUnexpectedStatus`. */
async function send(
  pool: Pool,
  { expectedStatus: expect, onUnexpectedStatus: onOther, ...request }: RequestSpec,
): Promise<void> {
  const { statusCode, body } = await pool.request(request);
  const text = await body.text();
  if (statusCode === expect) return;
  if (!onOther) throw new Error(`${request.path} responded ${statusCode}: ${text.slice(0, 500)}`);
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
export function summarize(tookMs: number[], seconds: number): LoadResult {
  return { count: tookMs.length, seconds, p50Ms: percentile(tookMs, 0.5), p99Ms: percentile(tookMs, 0.99) };
}

/** The figure that so large a part of all figures, from 0 to 1, does not exceed. */
export function percentile(figures: number[], part: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}
