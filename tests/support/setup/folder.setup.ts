import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** Gives the tests a temporary folder, which is removed with everything that they leave in it. */
export default async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-tests-"));
  await chmod(folder, 0o755); // PostgreSQL runs as another user
  process.env.TMPDIR = folder;
  return () => rm(folder, { recursive: true, force: true });
}
