import { expect, test } from "vitest";
import { embeddedAdapter, NO_HOOKS } from "@/lib/db/embedded/adapter";
import { ctx } from "@/tests/support/context";
import { openPGlite } from "@/tests/support/database";

test("a commit is visible to others only once it is on disk, also after an error or a rollback", async () => {
  const pglite = await openPGlite();
  const heard: string[] = [];
  const after = async () => void heard.push("on the disk");
  const hooks = { ...NO_HOOKS, after };
  const adapter = await (await embeddedAdapter(pglite, hooks)).connect();
  const query = (sql: string) => ({ sql, args: [], argTypes: [] });
  const insert = query("INSERT INTO kept VALUES (1)");
  await adapter.executeScript("CREATE TABLE kept (id int PRIMARY KEY); INSERT INTO kept VALUES (1)");

  heard.length = 0;
  await expect(adapter.executeRaw(insert)).rejects.toThrow();
  expect(heard).toEqual(["on the disk"]);

  const tx = await adapter.startTransaction();
  expect((await tx.queryRaw(query("SELECT id FROM kept"))).rows).toHaveLength(1);
  expect(heard).toEqual(["on the disk"]); // nothing is told before the transaction ends
  await tx.rollback();
  expect(heard).toEqual(["on the disk", "on the disk"]);
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
