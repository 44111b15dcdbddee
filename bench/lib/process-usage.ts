import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Clock ticks a second in /proc: USER_HZ, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;

/** The CPU seconds, user and system, that a process and its descendants, also those that ended, have used so far. */
export function cpuSeconds(pid: number): number {
  const ticks = processTree(pid).map((one) => {
    const [utime, stime, endedUtime, endedStime] = statFields(one).slice(11).map(Number);
    return (utime ?? 0) + (stime ?? 0) + (endedUtime ?? 0) + (endedStime ?? 0);
  });
  return sum(ticks) / TICKS_PER_SECOND;
}

/** The memory of a process and its descendants in MiB: `VmRSS` is the current one, `VmHWM` the peak. */
export function memoryMiB(pid: number, field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB`, "m");
  return sum(processTree(pid).map((one) => Number(line.exec(read(one, "status"))?.[1] ?? 0))) / KIB_PER_MIB;
}

/** Resets `VmHWM` to the current memory. */
export function resetPeak(pid: number): void {
  for (const one of processTree(pid)) writeFileSync(`/proc/${one}/clear_refs`, "5");
}

/** The number of busy cores of the machine over the next so many milliseconds. */
export async function busyCores(forMs: number): Promise<number> {
  const before = busySeconds();
  const startedAt = performance.now();
  await delay(forMs);
  return (busySeconds() - before) / ((performance.now() - startedAt) / 1000);
}

/** The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
function busySeconds(): number {
  const [, ...ticks] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks;
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

function processTree(root: number): number[] {
  const all = readdirSync("/proc").map(Number).filter(Boolean);
  const parents = new Map(all.map((pid) => [pid, Number(statFields(pid)[1])]));
  const isBelow = (pid: number | undefined): boolean => pid === root || (!!pid && isBelow(parents.get(pid)));
  return all.filter(isBelow);
}

/** The fields of /proc/PID/stat that follow the name, from the state on; the name may hold anything. */
function statFields(pid: number): string[] {
  const text = read(pid, "stat");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Empty for a process that has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
