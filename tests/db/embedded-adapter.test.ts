import { expect, test } from "vitest";
import { embeddedAdapter, NOTHING } from "@/lib/db/embedded/adapter";
import { openPGlite } from "@/tests/support/database";

test("a commit is visible to others only once it is on disk, also after an error or a rollback", async () => {
  const pglite = await openPGlite();
  const heard: string[] = [];
  const after = async () => void heard.push("on the disk");
  const around = { ...NOTHING, after };
  const adapter = await (await embeddedAdapter(pglite, around)).connect();
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
