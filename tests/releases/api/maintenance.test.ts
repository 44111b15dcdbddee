import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { uploadFile } from "@/tests/support/releases/uploads";

const CORE = { product: "core", platform: "windows", architecture: "x64" };
const ID = "core-windows-x64-2.0.0";

async function post(path: string, token: string | undefined, json: object) {
  const response = await call("POST", `/api/admin/releases${path}`, { ...(token && { token }), json });
  return { status: response.status, body: (await response.json()) as object };
}

async function publish(key: { key: string; id: string }, version: string, channel = "stable") {
  const { id } = await uploadFile(key as Parameters<typeof uploadFile>[0]);
  const files = [{ uploadId: id, kinds: ["installer"] }];
  const published = await post("", key.key, { releases: [{ release: { ...CORE, version, channel }, files }] });
  expect(published.status).toBe(201);
}

const eventsOf = async (key: { id: string }, target: string) =>
  (await ctx().db.auditEvent.findMany({ where: { actor: `key:${key.id}`, target } })).map(({ type }) => type);

isolateDataFolder();

describe("promoting releases", () => {
  const promotion = { filter: { ids: ["2.0.0"], product: "core" }, from: "beta", to: "stable" };

  test("offers them on the other channel, and is recorded", async () => {
    const key = await newKey();
    await publish(key, "2.0.0", "beta");
    const promoted = (outcome: string) => ({ releases: [{ id: `${ID}-stable`, from: ID, outcome }] });
    expect(await post("/promotions", key.key, promotion)).toEqual({ status: 200, body: promoted("added") });
    expect(await post("/promotions", key.key, promotion)).toEqual({ status: 200, body: promoted("unchanged") });
    expect(await eventsOf(key, `release:${ID}-stable`)).toContain("release_published");
  });

  test("is refused for a release that does not exist, invalid fields, and callers who may not publish", async () => {
    const key = (await newKey()).key;
    const codeOf = async (token: string | undefined, body: object) => {
      const response = await post("/promotions", token, body);
      return [response.status, (response.body as { code: string }).code];
    };
    expect(await codeOf(key, promotion)).toEqual([404, "release_not_found"]);
    expect(await codeOf(key, { ...promotion, rollout: 101 })).toEqual([422, "validation_failed"]);
    expect(await codeOf(key, { ...promotion, isNew: true })).toEqual([422, "validation_failed"]);
    expect(await codeOf(undefined, promotion)).toEqual([401, "unauthenticated"]);
    expect(await codeOf((await newKey({ scopes: ["releases:read"] })).key, promotion)).toEqual([403, "forbidden"]);
    expect((await codeOf((await newAccount()).token, promotion))[0]).toBe(403);
  });
});

describe("pruning the catalog", () => {
  test("removes old releases with their files, after a dry run that changes nothing", async () => {
    const key = await newKey();
    for (const version of ["2.0.0", "2.1.0", "2.2.0"]) await publish(key, version);
    const limits = { filter: {}, keep: 2 };
    const planned = await post("/prune", key.key, { ...limits, isDryRun: true });
    expect(planned).toMatchObject({ status: 200, body: { releases: [ID], freedBytes: 1_000, elsewhere: [] } });
    expect(await eventsOf(key, `release:${ID}`)).toEqual(["release_published"]);
    expect(await post("/prune", key.key, { ...limits, isDryRun: false })).toEqual(planned);
    expect(await eventsOf(key, `release:${ID}`)).toEqual(["release_published", "release_removed"]);
    expect(await post("/prune", key.key, { ...limits, isDryRun: false })).toMatchObject({ body: { releases: [] } });
  });

  test("is refused without isDryRun, with a wrong limit, and for callers who may not publish", async () => {
    const key = (await newKey()).key;
    expect((await post("/prune", key, {})).status).toBe(422);
    expect((await post("/prune", key, { isDryRun: true, publishedBefore: "yesterday" })).status).toBe(422);
    expect((await post("/prune", key, { isDryRun: true, keep: -1 })).status).toBe(422);
    expect((await post("/prune", key, { isDryRun: true, product: "core" })).status).toBe(422); // belongs into the filter
    expect((await post("/prune", undefined, { isDryRun: true })).status).toBe(401);
    const reader = (await newKey({ scopes: ["releases:read"] })).key;
    expect((await post("/prune", reader, { isDryRun: true })).status).toBe(403);
  });
});
