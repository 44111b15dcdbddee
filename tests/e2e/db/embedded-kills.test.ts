import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { billingEvent, deliverTo } from "@/tests/support/billing/billing";
import { newDataDir, startAndFail, startForTest } from "@/tests/support/process/service";

/** Creates and migrates the embedded database, as a first start does. */
function beginMigration(dataDir: string): ChildProcess {
  const env = { ...process.env, DATA_DIR: dataDir };
  return spawn("node_modules/.bin/tsx", ["scripts/db-migrate.ts"], { env, stdio: "inherit", detached: true });
}

/** Kills a process and its children, some turns of the event loop after a file has appeared. */
async function killAfter(child: ChildProcess, file: string, turns: number): Promise<void> {
  while (!existsSync(file) && child.exitCode === null) await turn();
  for (let left = turns; left > 0 && child.exitCode === null; left--) await turn();
  if (child.exitCode !== null) return;
  process.kill(-(child.pid ?? 0), "SIGKILL");
  await once(child, "exit");
}

test("a kill while the database is created or migrated does not stop the next start", async () => {
  const dataDir = await newDataDir();
  for (const appeared of ["db.new", "db.new/PG_VERSION", "db", "db"]) {
    const child = beginMigration(dataDir);
    await killAfter(child, path.join(dataDir, appeared), randomInt(20_000));
  }
  const [code] = await once(beginMigration(dataDir), "exit");
  expect(code).toBe(0);
});

test("a process that is stopped keeps the database to itself", async () => {
  const first = await startForTest();
  process.kill(first.pid ?? 0, "SIGSTOP");
  const second = await startAndFail({ DATA_DIR: first.dataDir, PORT: "0" });
  expect(second).toMatchObject({ code: 1, output: expect.stringContaining(`(pid ${first.pid}) is using`) });
  process.kill(first.pid ?? 0, "SIGCONT");
  const event = billingEvent("INITIAL_PURCHASE");
  expect((await deliverTo(first, event)).status).toBe(200);
  await first.end("SIGKILL");

  const third = await startForTest({ DATA_DIR: first.dataDir });
  expect(await (await deliverTo(third, event)).json()).toMatchObject({ status: "duplicate" });
});
