/** The outcome of a load. `count` is the number of requests, unless a workload documents another unit. */
export type LoadResult = { count: number; seconds: number; p50Ms: number; p99Ms: number };
