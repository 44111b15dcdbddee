import { spawnSync } from "node:child_process";

/** Whether a machine has not all of these commands. CI has them; README asks of nobody else to install them. */
export function lacks(...commands: string[]): boolean {
  return commands.some((command) => spawnSync("sh", ["-c", `command -v ${command}`]).status !== 0);
}
