import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { makeBlockMap, serializeBlockMap } from "@/lib/releases/publishing/files/block-map";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { loseResponses } from "@/tests/support/idempotency";
import { publishVersion } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { build, draftOf, newFolder } from "@/tests/support/releases/publishing";
import { storeOf } from "@/tests/support/releases/stores";

type Store = ReturnType<typeof storeOf>;

isolateDataFolder();

test("releases are published, changed, promoted, withdrawn, removed and pruned", async () => {
  const store = storeOf(await newKey());
  const folder = await newFolder();
  const [id, betaId] = ["core-windows-x64-2.0.0", "core-windows-x64-2.1.0"];
  const release = (one: string, outcome: string) => ({ releases: [{ id: one, outcome }] });
  const drafts = [draftOf(await build(folder, "setup.exe"), "2.0.0")];
  expect(await store.add(drafts)).toMatchObject(release(id, "added"));
  expect(await store.add(drafts)).toMatchObject(release(id, "unchanged"));
  expect(await store.update({ ids: ["2.0.0"] }, { critical: true })).toMatchObject(release(id, "changed"));
  const beta = draftOf(await build(folder, "beta.exe"), "2.1.0", { release: { channel: "beta" } });
  expect(await store.add([beta])).toMatchObject(release(betaId, "added"));
  expect(await store.promote({ ids: ["2.1.0"] }, { from: "beta", to: "stable" })).toMatchObject({
    releases: [{ id: `${betaId}-stable`, from: betaId, outcome: "added" }],
  });
  expect(await store.update({ ids: [betaId] }, { yanked: true })).toMatchObject(release(betaId, "changed"));
  const removed = await store.remove({ ids: [betaId] }, { isForced: false, isDryRun: false });
  expect(removed).toMatchObject({ result: { releases: [betaId], files: [] } });
  const pruned = await store.prune({ platform: "windows" }, { keep: 1, isDryRun: true, publishedBefore: undefined });
  expect(pruned).toMatchObject({ result: { releases: [] } }); // 2.0.0 is critical
});

test("several releases are removed in one request: all of them or none", async () => {
  const key = await newKey();
  const paths: string[] = [];
  const store = storeOf(key, ({ path }) => paths.push(path) < 0);
  for (const version of ["2.0.0", "2.1.0"]) await publishVersion(key, version, { rollout: 0 });
  await publishVersion(key, "2.2.0");
  const remove = (...ids: string[]) => store.remove({ ids }, { isForced: false, isDryRun: false });
  await expect(remove("2.0.0", "2.2.0")).rejects.toMatchObject({ code: "release_in_use" });
  expect((await store.list({})).length).toBe(3);
  const [first, second] = ["core-windows-x64-2.0.0", "core-windows-x64-2.1.0"];
  expect((await remove("2.0.0", "2.1.0")).result.releases.toSorted()).toEqual([first, second]);
  expect(paths.filter((path) => path.includes("/removals"))).toHaveLength(2);
  const targets = [first, second].map((id) => `release:${id}`);
  const where = { actor: `key:${key.id}`, type: "release_removed" };
  const events = await ctx().db.auditEvent.findMany({ where });
  expect(events.map(({ target }) => target).toSorted()).toEqual(targets);
});

test.each([
  [
    "remove",
    (store: Store, isDryRun: boolean, etag?: string) =>
      store.remove({ ids: ["2.0.0"] }, { isForced: true, isDryRun }, etag),
  ],
  [
    "prune",
    (store: Store, isDryRun: boolean, etag?: string) =>
      store.prune({}, { keep: 1, publishedBefore: undefined, isDryRun }, etag),
  ],
] as const)("%s is refused if a release was changed after the dry run, and done after another one", async (_, run) => {
  const key = await newKey();
  const store = storeOf(key);
  await publishVersion(key, "2.0.0", { rollout: 0 });
  await publishVersion(key, "2.1.0");
  const { etag } = await run(store, true);
  await store.update({ ids: ["2.0.0"] }, { rollout: 5 });
  await expect(run(store, false, etag)).rejects.toMatchObject({ code: "precondition_failed" });
  await store.update({ ids: ["2.0.0"] }, { rollout: 0 });
  const again = await run(store, true);
  expect(again).toMatchObject({ result: { releases: ["core-windows-x64-2.0.0"] }, etag: expect.any(String) });
  expect((await run(store, false, again.etag)).result.releases).toEqual(["core-windows-x64-2.0.0"]);
  expect((await store.list({})).map(({ version }) => version)).toEqual(["2.1.0"]);
});

test("a change is made once, and reported, where the response to its first attempt is lost", async () => {
  const key = await newKey();
  await publishVersion(key, "3.0.0", { rollout: 0 });
  const lost = new Set<string>();
  const store = storeOf(key, ({ method, path }) => {
    const isFirst = (method === "PATCH" || path.endsWith("/removals")) && !lost.has(method);
    if (isFirst) lost.add(method);
    return isFirst;
  });
  expect((await store.update({ ids: ["core-windows-x64-3.0.0"] }, { notes: "New" })).releases).toMatchObject([
    { outcome: "changed" },
  ]);
  const removed = await store.remove({ ids: ["core-windows-x64-3.0.0"] }, { isForced: false, isDryRun: false });
  expect(removed.result.releases).toEqual(["core-windows-x64-3.0.0"]);
  expect([...lost]).toEqual(["PATCH", "POST"]);
});

test("a release is added although the service stops between its publication and the response", async () => {
  let hasStopped = false;
  const store = storeOf(await newKey(), async ({ method, path }) => {
    if (hasStopped || method !== "POST" || !path.endsWith("/releases")) return false;
    hasStopped = true;
    await loseResponses();
    return true;
  });
  const added = await store.add([draftOf(await build(await newFolder(), "setup.exe"), "3.1.0")]);
  expect(added.releases).toEqual([{ id: "core-windows-x64-3.1.0", outcome: "unchanged" }]);
  expect(hasStopped).toBe(true);
});

test("a block map beside a file is published with it", async () => {
  const key = await newKey();
  const file = await build(await newFolder(), "setup.exe", randomBytes(600_000));
  await writeFile(`${file}.blockmap`, await serializeBlockMap(await makeBlockMap(file, () => {})));
  const destination = { kind: "url", url: "https://cdn.example.com/setup.exe" } as const;
  const store = storeOf(key);
  await store.add([draftOf(file, "4.0.0", { destination })]);
  const [release] = await store.list({ version: "4.0.0" });
  expect(release?.artifacts.installer?.blockMap).toMatchObject({ url: "https://cdn.example.com/setup.exe.blockmap" });
});
