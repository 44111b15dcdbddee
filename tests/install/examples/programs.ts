import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

/** A user's shell: without the variables and the programs that npm and the tests add. */
export const SHELL = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(HOME|TMPDIR|npm_config_(registry|cache|userconfig))$/i.test(name),
    ),
  ),
  PATH: process.env.PATH?.split(":")
    .filter((folder) => !folder.endsWith("node_modules/.bin"))
    .join(":"),
  NEXT_TELEMETRY_DISABLED: "1",
} as unknown as NodeJS.ProcessEnv; // Next's types require NODE_ENV

/** Runs a program to its end. Returns what it printed. @throws Error with what it printed */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env: SHELL });
    return stdout + stderr;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout: string };
    throw new Error(`${message}\n${stdout}`);
  }
}

/** Starts a program for one test, after which it is killed, with all that it has started. */
export function start(cwd: string, command: string, ...args: string[]): void {
  const { pid } = spawn(command, args, { cwd, env: SHELL, stdio: "ignore", detached: true });
  if (pid) onTestFinished(() => void process.kill(-pid, "SIGKILL"));
}
