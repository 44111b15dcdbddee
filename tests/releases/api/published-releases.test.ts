import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import {
  callReleases,
  changeRelease,
  draftOf,
  listReleases,
  publishDrafts,
  publishVersion,
  releaseEventsOf,
} from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { uploadFile } from "@/tests/support/releases/uploads";

const folder = () => path.join(ctx().config.DATA_DIR, "releases");

isolateDataFolder();

test("an id that no release and no rollout can have is not found", async () => {
  const { key } = await newKey();
  const id = "a".repeat(200);
  for (const [method, path, json] of [
    ["GET", `/${id}`],
    ["PATCH", `/${id}`, { rollout: 20 }],
    ["DELETE", `/${id}`],
    ["GET", `/rollouts/${id}`],
    ["PATCH", `/rollouts/${id}`, { state: "running" }],
  ] as const)
    expect(await callReleases(method, path, key, json)).toMatchObject({ status: 404, code: "not_found" });
  const report = { version: "1.4.0", outcome: "installed", platform: "windows", architecture: "x64" };
  expect((await post(`/api/updates/${id}/report`, report)).status).toBe(404);
});

describe("a published release", () => {
  test("is listed, changed and removed, each with an event in the audit trail", async () => {
    const key = await newKey();
    for (const version of ["1.4.0", "1.5.0"]) await publishDrafts(key.key, [draftOf(version, await uploadFile(key))]);
    const [newest] = (await listReleases(key.key)).releases;
    expect(newest).toMatchObject({ id: "core-windows-x64-1.5.0", rollout: 100 });
    const id = newest?.id ?? "";
    expect(await changeRelease("PATCH", id, { token: key.key, json: { rollout: 20 } })).toMatchObject({
      status: 200,
      releases: [{ id, outcome: "changed" }],
    });
    expect(await changeRelease("DELETE", id, { token: key.key })).toMatchObject({
      status: 409,
      code: "release_in_use",
    });
    expect((await changeRelease("PATCH", id, { token: key.key, json: { yanked: true } })).status).toBe(200);
    expect(await changeRelease("DELETE", `${id}?dryRun=true`, { token: key.key })).toMatchObject({ releases: [id] });
    expect((await listReleases(key.key)).releases).toHaveLength(2);
    expect(await changeRelease("DELETE", id, { token: key.key })).toMatchObject({ status: 200, releases: [id] });
    expect((await listReleases(key.key)).releases.map(({ version }) => version)).toEqual(["1.4.0"]);
    expect(await releaseEventsOf(key, id)).toEqual([
      ["release_published", { outcome: "added" }],
      ["release_changed", { from: { rollout: 100 }, to: { rollout: 20 } }],
      ["release_changed", { from: { yanked: false }, to: { yanked: true } }],
      ["release_removed", { version: "1.5.0" }],
    ]);
  });

  test("is found by its id alone: a version or an unknown id is none", async () => {
    const key = await newKey();
    await publishDrafts(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    for (const id of ["1.4.0", "core", "%00"]) {
      const changed = await changeRelease("PATCH", id, { token: key.key, json: { rollout: 0 } });
      expect([id, changed.status]).toEqual([id, 404]);
    }
    expect((await listReleases(key.key)).releases[0]?.rollout).toBe(100);
  });

  test("does not take another version, or values out of bounds", async () => {
    const key = await newKey();
    const id = await publishVersion(key, "1.4.0");
    for (const json of [{ version: "2.0.0" }, { rollout: 101 }, { minimumSupportedVersion: "x" }]) {
      expect((await changeRelease("PATCH", id, { token: key.key, json })).status).toBe(422);
    }
  });

  test("is listed by page and by field", async () => {
    const key = await newKey();
    const drafts = [];
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) drafts.push(draftOf(version, await uploadFile(key)));
    await publishDrafts(key.key, drafts);
    const first = await listReleases(key.key, "?limit=2");
    const second = await listReleases(key.key, `?limit=2&cursor=${first.nextCursor}`);
    const { releases } = await listReleases(key.key, "?version=1.1.0&platform=win32");
    const versions = [first.releases, second.releases, releases].map((page) => page.map(({ version }) => version));
    expect(versions).toEqual([["1.2.0", "1.1.0"], ["1.0.0"], ["1.1.0"]]);
    expect(second.nextCursor).toBeNull();
  });
});

test("a catalog that cannot be read or changed is an error with a code, without the folder of the machine", async () => {
  const key = await newKey();
  await publishDrafts(key.key, [draftOf("1.4.0", await uploadFile(key))]);
  const upload = await uploadFile(key);
  await writeFile(path.join(folder(), "catalog.json"), "{");
  const [listed, published] = [
    await get("/api/admin/releases", { token: key.key }),
    await publishDrafts(key.key, [draftOf("1.5.0", upload)]),
  ];
  expect([listed.status, published.status, published.code]).toEqual([409, 409, "catalog_invalid"]);
  expect(published.detail).not.toContain(ctx().config.DATA_DIR);
  expect(await readFile(path.join(folder(), "catalog.json"), "utf8")).toBe("{");
  await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, async () => {
    expect(await publishDrafts(key.key, [draftOf("1.5.0", upload)])).toMatchObject({
      status: 409,
      code: "catalog_not_editable",
      detail: expect.stringContaining("--catalog FILE"),
    });
    const read = await listReleases(key.key); // as the URL was last read
    expect(read.releases.map(({ version }) => version)).toEqual(["1.4.0"]);
  });
  const rollouts = { ...ctx().rollouts, catalogReleases: () => null }; // the URL was never read
  await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" }, rollouts }, async () => {
    const pruned = await callReleases("POST", "/prune", key.key, { isDryRun: true });
    expect([pruned.status, pruned.code]).toEqual([409, "catalog_not_editable"]);
  });
});

const ID = "core-windows-x64-2.0.0";

describe("promoting releases", () => {
  const promotion = { filter: { ids: ["2.0.0"], product: "core" }, from: "beta", to: "stable" };

  test("offers them on the other channel, and is recorded", async () => {
    const key = await newKey();
    await publishVersion(key, "2.0.0", { channel: "beta" });
    for (const outcome of ["added", "unchanged"]) {
      const releases = [{ id: `${ID}-stable`, from: ID, outcome }];
      expect(await callReleases("POST", "/promotions", key.key, promotion)).toEqual({ status: 200, releases });
    }
    expect((await releaseEventsOf(key, `${ID}-stable`)).map(([type]) => type)).toContain("release_published");
  });

  test("is refused for a release that does not exist, and for invalid fields", async () => {
    const key = (await newKey()).key;
    const codeOf = async (body: object) => {
      const { status, code } = await callReleases("POST", "/promotions", key, body);
      return [status, code];
    };
    expect(await codeOf(promotion)).toEqual([404, "release_not_found"]);
    expect(await codeOf({ ...promotion, rollout: 101 })).toEqual([422, "validation_failed"]);
    expect(await codeOf({ ...promotion, isNew: true })).toEqual([422, "validation_failed"]);
  });
});

describe("pruning the catalog", () => {
  const prune = (token: string, json: object) => callReleases("POST", "/prune", token, json);

  test("removes old releases with their files, after a dry run that changes nothing", async () => {
    const key = await newKey();
    for (const version of ["2.0.0", "2.1.0", "2.2.0"]) await publishVersion(key, version);
    const changes = async () => (await releaseEventsOf(key, ID)).map(([type]) => type);
    const limits = { filter: {}, keep: 2 };
    const planned = await prune(key.key, { ...limits, isDryRun: true });
    expect(planned).toMatchObject({ status: 200, releases: [ID], freedBytes: 200, elsewhere: [] });
    expect(await changes()).toEqual(["release_published"]);
    expect(await prune(key.key, { ...limits, isDryRun: false })).toEqual(planned);
    expect(await changes()).toEqual(["release_published", "release_removed"]);
    expect(await prune(key.key, { ...limits, isDryRun: false })).toMatchObject({ releases: [] });
  });

  test("is refused without isDryRun, and with a wrong limit", async () => {
    const key = (await newKey()).key;
    expect((await prune(key, {})).status).toBe(422);
    expect((await prune(key, { isDryRun: true, keep: -1 })).status).toBe(422);
    expect((await prune(key, { isDryRun: true, product: "core" })).status).toBe(422); // belongs into the filter
  });
});
