import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";

export type Ended = { code: number | null; stdout: string; stderr: string; output: string };

/**
 * Node's flags for the processes that tests start. Without the second compilation of PostgreSQL's WebAssembly, for
 * speed, opening an embedded database takes half the CPU time. With more memory for new objects, the garbage collector
 * does not run during the start.
 */
export const NODE_FLAGS = ["--liftoff-only", "--min-semi-space-size=16"];

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

/** Node's arguments for a script of package.json: its bundle, which the build before the tests has made, or its source by tsx. */
function argumentsOf(runner: string, script: string): string[] {
  return [...NODE_FLAGS, ...(runner === "tsx" ? ["--import", "tsx", script] : [`.next/bin/${script}.mjs`])];
}

/** Node's arguments for `homeport`, and for every npm command that parses arguments. */
export const COMMANDS: ReadonlyMap<string, string[]> = new Map([
  ["homeport", argumentsOf("node", "homeport")],
  ...Object.entries(scripts).flatMap(([name, line]): [string, string[]][] => {
    const [, runner, script = ""] = /^(node scripts\/run\.mjs|tsx) (\S+)$/.exec(line) ?? [];
    return runner ? [[name, argumentsOf(runner, script)]] : [];
  }),
]);

/**
 * Starts what `homeport ARGS` or `npm run NAME -- ARGS` runs, without npm and without the environment of the tests. It is
 * killed after the test. @throws Error if there is no such command
 */
export function startCommand(
  name: string,
  args: string[],
  env: Record<string, string> = {},
): { child: ChildProcess; output: () => string; ended: Promise<Ended> } {
  const command = COMMANDS.get(name);
  if (!command) throw new Error(`There is no command ${name}`);
  const child = spawn(process.execPath, [...command, ...args], {
    env: { PATH: process.env.PATH ?? "", NODE_ENV: "production", ...env },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const text = { stdout: "", stderr: "", output: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].on("data", (chunk: Buffer) => {
      text[stream] += chunk;
      text.output += chunk;
    });
  }
  const ended = once(child, "close").then(([code]: (number | null)[]) => ({ code: code ?? null, ...text }));
  return { child, output: () => text.output, ended };
}

/** Runs what `startCommand` starts, and resolves to how it ended. */
export const runCommand = (name: string, args: string[], env?: Record<string, string>): Promise<Ended> =>
  startCommand(name, args, env).ended;
