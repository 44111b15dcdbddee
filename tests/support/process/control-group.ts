import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { onTestFinished } from "vitest";
import { requirement } from "@/tests/support/requirements";

const VERSION_1 = "/sys/fs/cgroup/memory";
const [ROOT, LIMIT] = existsSync(VERSION_1) ? [VERSION_1, "memory.limit_in_bytes"] : ["/sys/fs/cgroup", "memory.max"];

/** Whether a control group can be made here. That takes root. */
export const canLimitMemory = requirement("A control group that limits memory, as root", makesGroup());

function makesGroup(): boolean {
  const script = `set -e; group=$(mktemp -d ${ROOT}/homeport-XXXXXX); echo 1G > $group/${LIMIT}; rmdir $group`;
  return spawnSync("sh", ["-c", script], { stdio: "ignore" }).status === 0;
}

/** Makes a control group for one test, whose processes must have ended by then. Returns the file that admits a process. */
export async function newControlGroup(memoryBytes: number): Promise<string> {
  const group = await mkdtemp(path.join(ROOT, "homeport-"));
  onTestFinished(() => rmdir(group));
  await writeFile(path.join(group, LIMIT), String(memoryBytes));
  return path.join(group, "cgroup.procs");
}
