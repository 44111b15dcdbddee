import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

/** What npm and the tests add to the environment. */
const ADDED = /^(CI|INIT_CWD|NODE_ENV|TEST.*|VITEST.*|npm_(?!config_(cache|registry|userconfig)$).*)$/i;

/** The environment of a user's shell. Next's types require NODE_ENV. */
export const SHELL = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ADDED.test(name))),
  PATH: process.env.PATH?.replace(/[^:]*node_modules\/\.bin:/g, ""),
  NEXT_TELEMETRY_DISABLED: "1",
} as unknown as NodeJS.ProcessEnv;

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
