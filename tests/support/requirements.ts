import { spawnSync } from "node:child_process";

/**
 * Whether something that tests need is here. Tests without it are skipped on a developer's machine only.
 * @throws Error where CI is set and it is missing.
 */
export function requirement(name: string, isMet: boolean): boolean {
  if (!isMet && process.env.CI)
    throw new Error(`${name} is missing. Tests are not skipped in CI: install it in .ci/run.`);
  return isMet;
}

/** Whether all of these commands are installed. @throws Error where CI is set and one is missing. */
export function hasCommands(...commands: string[]): boolean {
  const missing = commands.filter((command) => spawnSync("sh", ["-c", `command -v ${command}`]).status !== 0);
  return requirement(missing.join(", "), missing.length === 0);
}
