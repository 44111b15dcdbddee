import { expect, test } from "vitest";
import { loadConfig } from "@/lib/config";
import { openDatabase } from "@/lib/db/open";
import { newDataDir, startForTest } from "@/tests/support/process/service";

test("the first start copies the database that the build has migrated", async () => {
  const startedAt = new Date();
  const dataDir = await newDataDir();
  const service = await startForTest({ DATA_DIR: dataDir });
  await service.end("SIGTERM");
  const database = await openDatabase(loadConfig({ DATA_DIR: dataDir }), { onConnectionError: () => {} });
  const [migrated] = await database.client.$queryRaw<{ at: Date }[]>`
    SELECT max(finished_at) AS at FROM _prisma_migrations`;
  expect(migrated?.at.getTime()).toBeLessThan(startedAt.getTime());
  await database.close();
});
