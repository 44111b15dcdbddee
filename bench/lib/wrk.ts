import { execFile, spawnSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { LoadResult } from "./load";
import { SCALE } from "./scale";

const CONNECTIONS = 32;
const SCRIPT = path.join(import.meta.dirname, "wrk.lua");

type Report = { requests: number; microseconds: number; p50: number; p99: number; errors: number };

type Options = {
  headers?: Record<string, string>;
  connections?: number;
  /** A file with a request in each line, which are sent in turn instead of `url`: a path, and a bearer token or nothing. */
  requests?: string;
};

export const hasWrk = (): boolean => spawnSync("which", ["wrk"]).status === 0;

/**
 * Sends GET requests in a closed loop with one thread, by default to one URL, for whole seconds or until the scale's
 * `maxResponses`.
 * @throws Error if any request fails
 */
export async function wrk(url: string, seconds: number, options: Options = {}): Promise<LoadResult> {
  const { headers = {}, connections = CONNECTIONS, requests } = options;
  const headerArgs = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const args = ["-t1", `-c${connections}`, `-d${Math.ceil(seconds)}s`, "-s", SCRIPT, ...headerArgs, url];
  const { maxResponses } = SCALE;
  const env = {
    ...process.env,
    ...(requests && { WRK_REQUESTS: requests }),
    ...(maxResponses && { WRK_MAX_RESPONSES: String(maxResponses) }),
  };
  const { stdout } = await promisify(execFile)("wrk", args, { env });
  const report = JSON.parse(/^JSON (.*)$/m.exec(stdout)?.[1] ?? "null") as Report | null;
  if (!report) throw new Error(`wrk printed no report: ${stdout}`);
  if (report.requests === 0) throw new Error(`${url}: wrk got no response`);
  if (report.errors > 0) throw new Error(`${url}: ${report.errors} of ${report.requests} requests failed`);
  return {
    count: report.requests,
    seconds: report.microseconds / 1e6,
    p50Ms: report.p50 / 1000,
    p99Ms: report.p99 / 1000,
  };
}
