import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, inject, test } from "vitest";
import { openEmbedded } from "@/lib/platform/db/embedded/open";
import { packDatabase, unpackDatabase } from "@/lib/platform/db/embedded/template";
import { databaseOf } from "@/lib/platform/db/open";
import { copyEmbeddedDatabase } from "@/tests/support/database";

test("a database that was packed and unpacked has all migrations and accepts writes", async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), "homeport-template-"));
  await mkdir(path.join(dataDir, "db"));
  await unpackDatabase(await packDatabase(path.join(inject("templateDataDir"), "db")), path.join(dataDir, "db"));
  const embedded = await openEmbedded(dataDir, false, {});
  const database = databaseOf(embedded.adapter, embedded, false);
  expect(await database.missingMigrations()).toEqual([]);
  expect(await database.checkWrites()).toBeNull();
  await database.client.session.deleteMany();
  expect(await database.client.account.count()).toBe(0);
  await database.close();
});

test("a database is marked as synced, until a run without sync writes to it", async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), "homeport-synced-"));
  await copyEmbeddedDatabase(dataDir);
  const isMarked = () =>
    stat(path.join(dataDir, "db/homeport.synced")).then(
      () => true,
      () => false,
    );
  const marks: boolean[] = [];
  for (const isSynced of [true, false, true]) {
    const { close } = await openEmbedded(dataDir, isSynced, {});
    marks.push(await isMarked());
    await close();
  }
  expect(marks).toEqual([true, false, true]);
});
