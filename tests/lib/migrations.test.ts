import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { embeddedAdapter } from "@/lib/db/embedded";
import { applyMigrations, diffToSchema, migrationNames } from "@/lib/db/migrations";

test("the migrations, applied to an empty database, leave no difference to schema.prisma", async () => {
  const pglite = await PGlite.create();
  const adapter = await embeddedAdapter(pglite);
  expect(await applyMigrations(adapter)).toEqual(await migrationNames());
  expect(await diffToSchema(adapter)).toBe("");
  expect(await applyMigrations(adapter)).toEqual([]);
  await pglite.close();
});

test("a script that fails is reported, so that a broken migration never counts as applied", async () => {
  const pglite = await PGlite.create();
  const connection = await (await embeddedAdapter(pglite)).connect();
  await expect(connection.executeScript("CREATE TABLE broken (nothing such_type)")).rejects.toThrow("such_type");
  await pglite.close();
});
