import { existsSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import path from "node:path";

/** What `next build` needs, measured in control groups: at 1,400 MB the kernel kills it. */
export const BUILD_MEMORY_MB = 1536;
const MB = 2 ** 20;
const KIB = 1024;
/** Where Linux mounts control groups: version 2, and the memory controller of version 1. */
const MOUNTS = { v2: "/sys/fs/cgroup", v1: "/sys/fs/cgroup/memory" };

/** Ends the process if there is too little memory for the build. */
export function requireBuildMemory() {
  const { bytes, limit } = availableMemory();
  if (bytes >= BUILD_MEMORY_MB * MB) return;
  process.stderr.write(
    `The build needs ${BUILD_MEMORY_MB} MB of memory, and ${Math.floor(bytes / MB)} MB are available${limit}.\n` +
      "Build on another machine with the same operating system: run `npm run package -- FOLDER` there, copy the folder here, and\n" +
      "run `npm start` in it (docs/deploy.md, Install from a checkout). The service itself needs 256 MB.\n",
  );
  process.exit(1);
}

/** The memory that processes of this one can still take, and what limits it. Elsewhere than on Linux: the machine's. */
function availableMemory() {
  if (process.platform !== "linux") return { bytes: totalmem(), limit: "" };
  const machine = fieldsOf("/proc/meminfo");
  const free = { bytes: (machine.get("MemAvailable") + machine.get("SwapFree")) * KIB, limit: "" };
  return [free, ...controlGroups()].reduce((least, one) => (one.bytes < least.bytes ? one : least));
}

/** What each control group of this process leaves, with those that contain it. A container sees its own as the root. */
function controlGroups() {
  return readFileSync("/proc/self/cgroup", "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [, controllers, group] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      if (controllers === "") return foldersTo(group).map((folder) => leftOf(path.join(MOUNTS.v2, folder), V2));
      if (!controllers?.split(",").includes("memory")) return [];
      return foldersTo(group).map((folder) => leftOf(path.join(MOUNTS.v1, folder), V1));
    })
    .filter((left) => left !== null);
}

/** "/a/b": "/a/b", "/a" and "/". */
const foldersTo = (group) => (group === "/" ? ["/"] : [group, ...foldersTo(path.dirname(group))]);

const V2 = { limit: "memory.max", usage: "memory.current", caches: ["active_file", "inactive_file"] };
const V1 = {
  limit: "memory.limit_in_bytes",
  usage: "memory.usage_in_bytes",
  caches: ["total_active_file", "total_inactive_file"],
};

/** What a control group leaves; null: it has no limit. The kernel frees the caches of files when memory is short. */
function leftOf(folder, names) {
  if (!existsSync(path.join(folder, names.limit))) return null;
  const read = (name) => readFileSync(path.join(folder, name), "utf8").trim();
  const [limitBytes, stat] = [Number(read(names.limit)), fieldsOf(path.join(folder, "memory.stat"))];
  if (Number.isNaN(limitBytes)) return null; // max
  const cacheBytes = names.caches.reduce((sum, name) => sum + (stat.get(name) ?? 0), 0);
  const bytes = Math.max(0, limitBytes - Number(read(names.usage)) + cacheBytes);
  return { bytes, limit: ` (limit of the control group: ${Math.floor(limitBytes / MB)} MB)` };
}

/** The numbers of a file with a name and a number in each line. */
function fieldsOf(file) {
  const lines = readFileSync(file, "utf8").matchAll(/^(\w+):? +(\d+)/gm);
  return new Map([...lines].map(([, name, number]) => [name, Number(number)]));
}
