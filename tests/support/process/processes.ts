import { spawnSync } from "node:child_process";
import type { Service } from "./service";

/** The processes that WEB_CONCURRENCY has started, as pids. */
export function processesOf({ pid }: Pick<Service, "pid">): number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)]);
  return stdout
    .toString()
    .split(/\s+/)
    .filter((text) => text !== "")
    .map(Number);
}
