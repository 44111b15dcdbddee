import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export type Ended = { code: number | null; out: string; err: string };

/** Runs `npm run release -- ARGS` without npm. `onStart` gets the process. */
export async function runRelease(
  args: string[],
  env: Record<string, string>,
  onStart: (child: ChildProcess) => void = () => {},
): Promise<Ended> {
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/release.ts", ...args], {
    env: { PATH: process.env.PATH ?? "", NODE_ENV: "test", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    ended.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    ended.err += chunk;
  });
  onStart(child);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...ended };
}
