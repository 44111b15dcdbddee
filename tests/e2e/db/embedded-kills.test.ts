import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { startCommand } from "@/tests/support/process/command";
import { newDataDir, startAndFail, startForTest } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";

/** Creates and migrates the embedded database, as a first start does. */
const startMigration = (dataDir: string) => startCommand("db:migrate", [], { DATA_DIR: dataDir });

/** Kills the migration some turns of the event loop after a file has appeared. */
async function killMigration(dataDir: string, file: string, turns: number): Promise<void> {
  const { child, ended } = startMigration(dataDir);
  while (!existsSync(file) && child.exitCode === null) await delay(1);
  for (let left = turns; left > 0 && child.exitCode === null; left--) await turn();
  child.kill("SIGKILL");
  await ended;
}

test("a kill while the database is created or migrated does not stop the next start", async () => {
  const dataDir = await newDataDir();
  for (const appeared of ["db.new", "db.new/PG_VERSION", "db"]) {
    await killMigration(dataDir, path.join(dataDir, appeared), randomInt(20_000));
  }
  expect(await startMigration(dataDir).ended).toMatchObject({ code: 0, stderr: "" });
});

test("a process that is stopped keeps the database to itself, and a second one is refused in plain words", async () => {
  const first = await startForTest();
  process.kill(first.pid ?? 0, "SIGSTOP");
  const second = await startAndFail({ DATA_DIR: first.dataDir, PORT: "0" });
  expect(second.code).toBe(1);
  const [, pid] =
    /Another process \(pid (\d+)\) is using .*db: it holds the lock on .*db\.lock\. Stop it first/.exec(
      second.output,
    ) ?? [];
  expect(pid).toBe(String(first.pid));
  process.kill(first.pid ?? 0, "SIGCONT");
  const event = billingEvent("INITIAL_PURCHASE");
  expect((await deliverTo(first, event)).status).toBe(200);
  expect((await first.fetch("/api/health")).status).toBe(200);
  await first.end("SIGKILL");

  const third = await startForTest({ DATA_DIR: first.dataDir });
  expect(await (await deliverTo(third, event)).json()).toMatchObject({ status: "duplicate" });
});
