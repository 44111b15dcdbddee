import { existsSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { embeddedAdapter, NO_HOOKS } from "@/lib/platform/db/embedded/adapter";
import { clientOf } from "@/lib/platform/db/embedded/client";
import { openEmbedded } from "@/lib/platform/db/embedded/open";
import { packDatabase, unpackDatabase } from "@/lib/platform/db/embedded/template";
import { databaseOf } from "@/lib/platform/db/open";
import { ctx } from "@/tests/support/context";
import { copyEmbeddedDatabase, openPGlite } from "@/tests/support/database";

const query = (sql: string) => ({ sql, args: [], argTypes: [] });

test("a commit is visible to others only once it is on disk, also after an error or a rollback", async () => {
  const pglite = await openPGlite();
  const commits: string[] = [];
  const after = async () => void commits.push("on the disk");
  const hooks = { ...NO_HOOKS, after };
  const adapter = await (await embeddedAdapter(pglite, hooks)).connect();
  const insert = query("INSERT INTO kept VALUES (1)");
  await adapter.executeScript("CREATE TABLE kept (id int PRIMARY KEY); INSERT INTO kept VALUES (1)");

  commits.length = 0;
  await expect(adapter.executeRaw(insert)).rejects.toThrow();
  expect(commits).toEqual(["on the disk"]);

  const tx = await adapter.startTransaction();
  expect((await tx.queryRaw(query("SELECT id FROM kept"))).rows).toHaveLength(1);
  expect(commits).toEqual(["on the disk"]); // nothing before the transaction ends
  await tx.rollback();
  expect(commits).toEqual(["on the disk", "on the disk"]);
  await pglite.close();
});

test("a transaction that is not committed rejects, at the end too, and leaves nothing", async () => {
  const pglite = await openPGlite();
  const adapter = await (await embeddedAdapter(clientOf(pglite))).connect();
  const insert = (id: number, parent: number | null) => query(`INSERT INTO late VALUES (${id}, ${parent})`);
  await adapter.executeScript(
    "CREATE TABLE late (id int PRIMARY KEY, parent int REFERENCES late DEFERRABLE INITIALLY DEFERRED)",
  );
  const withoutParent = await adapter.startTransaction();
  await withoutParent.executeRaw(insert(1, 9));
  await expect(withoutParent.commit()).rejects.toMatchObject({ code: "23503" });

  const twice = await adapter.startTransaction();
  await twice.executeRaw(insert(2, null));
  await expect(twice.executeRaw(insert(2, null))).rejects.toThrow();
  await expect(twice.commit()).rejects.toMatchObject({ code: "25P02" });

  const inParts = await adapter.startTransaction();
  await inParts.executeRaw(insert(3, null));
  await inParts.createSavepoint?.("part");
  await expect(inParts.executeRaw(insert(3, null))).rejects.toThrow();
  await inParts.rollbackToSavepoint?.("part");
  await inParts.commit();
  expect((await adapter.queryRaw(query("SELECT id FROM late"))).rows).toEqual([[3]]);
  await pglite.close();
});

test("a loop of statements lets the rest of the process go on", async () => {
  const pglite = await openPGlite();
  const adapter = await (await embeddedAdapter(clientOf(pglite))).connect();
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  for (let statements = 0; statements < 200; statements++) await adapter.queryRaw(query("SELECT 1"));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(8);
  await pglite.close();
});

test("a parameter of each type is read back as it was given, from either database", async () => {
  const given = {
    text: `"quoted", {braced}, \\ and ' ü 😀`,
    integer: -12,
    bigint: 2n ** 62n,
    float: 1.5e-7,
    boolean: false,
    time: new Date("2026-02-03T04:05:06.789Z"),
    bytes: new Uint8Array([0, 1, 127, 128, 255]),
    json: { text: '"', list: [1, null] },
    nothing: null,
    texts: ["", "NULL", 'a "b", {c}', "\\"],
    integers: [1, 2],
    none: [],
  };
  const rows = await ctx().db.$queryRaw`
    SELECT ${given.text}::text AS text, ${given.integer}::integer AS integer, ${given.bigint}::bigint AS bigint,
      ${given.float}::float8 AS float, ${given.boolean}::boolean AS boolean, ${given.time}::timestamptz AS time,
      ${given.bytes}::bytea AS bytes, ${JSON.stringify(given.json)}::jsonb AS json, ${given.nothing}::uuid AS nothing,
      ${given.texts}::text[] AS texts, ${given.integers}::integer[] AS integers, ${given.none}::uuid[] AS none`;
  expect(rows).toEqual([given]);
});

describe("prepared statements", () => {
  const countPrepared = "SELECT count(*)::int AS count FROM pg_prepared_statements";
  let pglite: PGlite;
  let client: ReturnType<typeof clientOf>;

  beforeAll(async () => {
    pglite = await openPGlite();
    return () => pglite.close();
  });
  beforeEach(async () => {
    await pglite.exec("DEALLOCATE ALL");
    client = clientOf(pglite);
  });

  test("the session keeps the 200 that were used last, and runs every other as well", async () => {
    const run = async (index: number) => (await client.query(`SELECT $1::int + ${index} AS sum`, [1])).rows;
    for (const index of [...Array(250).keys(), 0]) expect(await run(index)).toEqual([{ sum: index + 1 }]);
    expect((await client.query(countPrepared)).rows).toEqual([{ count: 200 }]);
  });

  test("a parameter that cannot be written leaves no statement under another's name", async () => {
    const run = async (index: number, value: unknown) =>
      (await client.query(`SELECT $1::text AS "column${index}"`, [value])).rows;
    for (let index = 0; index < 200; index += 1) await run(index, "x");
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await expect(run(200, circular)).rejects.toThrow(TypeError);
    expect(await run(200, "y")).toEqual([{ column200: "y" }]);
  });

  test("one that failed before its table was created, or whose table a migration changes, runs afterwards", async () => {
    const select = () => client.query("SELECT * FROM later WHERE id = $1", [1]);
    await expect(select()).rejects.toMatchObject({ code: "42P01" });
    await client.exec("CREATE TABLE later (id int PRIMARY KEY); INSERT INTO later VALUES (1)");
    expect((await select()).rows).toEqual([{ id: 1 }]);
    await pglite.exec("ALTER TABLE later ADD COLUMN name text");
    client.invalidateStatements();
    expect((await select()).rows).toEqual([{ id: 1, name: null }]);
    expect((await client.query(countPrepared)).rows).toEqual([{ count: 1 }]);
  });

  test("each execution is planned for its parameters, as tables grow without statistics", async () => {
    const { db } = ctx();
    const select = `SELECT "id" AS "planned" FROM "Account" WHERE "email" = $1`;
    for (let run = 0; run < 10; run += 1) await db.$queryRawUnsafe(select, `${run}`);
    const plans = await db.$queryRaw`
      SELECT custom_plans::int, generic_plans::int FROM pg_prepared_statements WHERE statement = ${select}`;
    expect(plans).toEqual([{ custom_plans: 10, generic_plans: 0 }]);
  });
});

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
  const isMarked = () => existsSync(path.join(dataDir, "db/homeport.synced"));
  const marks = [isMarked()]; // a copy of the build's
  for (const isSynced of [false, true]) {
    const { close } = await openEmbedded(dataDir, isSynced, {});
    marks.push(isMarked());
    await close();
  }
  expect(marks).toEqual([true, false, true]);
});
