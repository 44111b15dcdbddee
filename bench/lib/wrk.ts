import { execFile, execFileSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { LoadResult } from "./load";

const CONNECTIONS = 32;
const SCRIPT = path.join(import.meta.dirname, "wrk.lua");

type Report = { requests: number; microseconds: number; p50: number; p99: number; errors: number };

/** Whether wrk is installed. */
export function hasWrk(): boolean {
  try {
    execFileSync("which", ["wrk"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Requests one URL in a closed loop with one thread and 32 connections. @throws Error if any request fails */
export async function wrk(url: string, seconds: number, headers: Record<string, string> = {}): Promise<LoadResult> {
  const headerArgs = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", SCRIPT, ...headerArgs, url];
  const { stdout } = await promisify(execFile)("wrk", args);
  const report = JSON.parse(/^JSON (.*)$/m.exec(stdout)?.[1] ?? "null") as Report | null;
  if (!report) throw new Error(`wrk printed no report: ${stdout}`);
  if (report.errors > 0) throw new Error(`${url}: ${report.errors} of ${report.requests} requests failed`);
  return {
    count: report.requests,
    seconds: report.microseconds / 1e6,
    p50Ms: report.p50 / 1000,
    p99Ms: report.p99 / 1000,
  };
}
