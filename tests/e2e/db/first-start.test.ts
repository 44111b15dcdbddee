import { stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { firstOperatorLink } from "@/tests/support/console/first-operator";
import { newDataDir, startForTest } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

// ASVS 6.3.2, 13.3.1, 13.3.2
test("an empty folder is enough: the service copies the database of the build, and keeps the secrets that it makes to itself", async () => {
  const startedAt = new Date();
  const dataDir = await newDataDir();
  const service = await startForTest({ DATA_DIR: dataDir });
  expect(await (await service.fetch("/api/health")).json()).toMatchObject({ status: "ok" });
  const secrets = await stat(path.join(dataDir, "secrets.json"));
  expect(secrets.mode & 0o777).toBe(0o600);
  expect((await stat(path.join(dataDir, "db"))).mode & 0o777).toBe(0o700);
  const link = await firstOperatorLink(service);
  expect(await service.end("SIGTERM")).toBe(0);
  const lines = service
    .output()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: "listening", url: service.url.replace("127.0.0.1", "localhost") }),
  );
  expect(lines).toContainEqual(expect.objectContaining({ url: expect.stringMatching(`${link}$`) }));

  const [migrated] = await withStoppedDatabase(
    { DATA_DIR: dataDir },
    (db) => db.$queryRaw<{ at: Date; accounts: number }[]>`
      SELECT max(finished_at) AS at, (SELECT count(*)::int FROM "Account") AS accounts FROM _prisma_migrations`,
  );
  expect(migrated?.accounts).toBe(0);
  expect(migrated?.at.getTime()).toBeLessThan(startedAt.getTime());
});
