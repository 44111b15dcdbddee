import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { expect, test } from "vitest";
import { embeddedAdapter } from "@/lib/db/embedded";
import { applyMigrations, diffToSchema, migrationNames } from "@/lib/db/migrations";
import { migrationAdapter } from "@/lib/db/open";
import { createDatabase } from "../support/database";

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

const server = process.env.TEST_DATABASE_URL;

test.runIf(server)("on PostgreSQL a script is one transaction, whatever semicolons are in it", async () => {
  const url = await createDatabase(server ?? "");
  const connection = await (await migrationAdapter(url)).connect();
  const script = "CREATE TABLE kept (text text DEFAULT 'one; two'); DO $$ BEGIN PERFORM 1; END $$;";
  await expect(connection.executeScript(`${script} ALTER TABLE missing ADD COLUMN x int`)).rejects.toThrow("missing");
  await connection.executeScript(script); // where the table was left by the first, this fails
  await connection.dispose();
});

test.runIf(server)(
  "a migration does not wait long for a table that is in use, since all others would wait behind it",
  async () => {
    const url = await createDatabase(server ?? "");
    const other = new Client({ connectionString: url });
    await other.connect();
    for (const statement of ["CREATE TABLE busy ()", "BEGIN", "LOCK TABLE busy"]) await other.query(statement);
    const connection = await migrationAdapter(url).connect();
    await expect(connection.executeScript("ALTER TABLE busy ADD COLUMN x int")).rejects.toThrow("lock timeout");
    await connection.dispose();
    await other.end();
  },
);
