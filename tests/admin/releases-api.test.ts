import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { createUpload, offsetOf, sendPart, type TestUpload, uploadFile } from "@/tests/support/admin/uploads";
import { call, get, type Options } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";

const CORE = { product: "core", platform: "windows", architecture: "x64" };
const folder = () => path.join(ctx().config.DATA_DIR, "releases");
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

type Draft = { release: object; files: object[]; confirmations?: object };
type Body = {
  code?: string;
  detail?: string;
  releases?: { id: string; outcome?: string }[];
  errors?: { pointer: string }[];
};

const draftOf = (version: string, { id }: TestUpload, fields: object = {}): Draft => ({
  release: { ...CORE, version },
  files: [{ uploadId: id, kinds: ["installer"], ...fields }],
});

async function publish(token: string, releases: Draft[], headers: Record<string, string> = {}) {
  const response = await call("POST", "/api/admin/releases", { token, json: { releases }, headers });
  return { ...((await response.json()) as Body), status: response.status, headers: response.headers };
}

async function change(method: "PATCH" | "DELETE", id: string, options: Options) {
  const response = await call(method, `/api/admin/releases/${id}`, options);
  return { ...((await response.json()) as Body), status: response.status };
}

async function list(token: string, query = "") {
  const body = await (await get(`/api/admin/releases${query}`, { token })).json();
  return body as { releases: { id: string; version: string; rollout: number }[]; nextCursor: string | null };
}

/** What a key did to a release. */
async function eventsOf(key: { id: string }, id: string) {
  const where = { actor: `key:${key.id}`, target: `release:${id}` };
  const events = await ctx().db.auditEvent.findMany({ where, orderBy: { id: "asc" } });
  return events.map(({ type, details }) => [type, details]);
}

isolateDataFolder();

describe("publishing uploads", () => {
  test("makes releases of several platforms visible at once, without a second copy of their bytes", async () => {
    const key = await newKey();
    const [exe, dmg] = [randomBytes(200_000), randomBytes(100_000)];
    const [windows, mac] = [await uploadFile(key, exe), await uploadFile(key, dmg, "Acme.dmg")];
    const { ino } = await stat(path.join(folder(), ".uploads", `${windows.id}.part`));
    const published = await publish(key.key, [
      draftOf("1.4.0", windows, {
        expected: { sha256: sha256(exe), sizeBytes: 200_000 },
        artifact: { fileName: "Setup 1.4.0.exe" },
      }),
      {
        release: { ...CORE, platform: "darwin", architecture: "universal", version: "1.4.0" },
        files: [{ uploadId: mac.id, kinds: ["installer"] }],
      },
    ]);
    expect(published).toMatchObject({
      status: 201,
      releases: [
        { id: "core-windows-x64-1.4.0", outcome: "added" },
        { id: "core-macos-universal-1.4.0", outcome: "added" },
      ],
    });
    const version = await get("/api/version?platform=windows&product=core&architecture=x64");
    expect(await version.json()).toMatchObject({
      version: "1.4.0",
      artifact: { fileName: "Setup 1.4.0.exe", sha256: sha256(exe) },
    });
    const download = await get("/api/download/macos?product=core&architecture=universal");
    expect(Buffer.from(await download.arrayBuffer()).equals(dmg)).toBe(true);
    expect((await stat(path.join(folder(), sha256(exe).slice(0, 16), "Setup 1.4.0.exe"))).ino).toBe(ino);
    expect(await readdir(path.join(folder(), ".uploads"))).toEqual([]);
    expect(await eventsOf(key, "core-windows-x64-1.4.0")).toEqual([["release_published", { outcome: "added" }]]);
  });

  test("uses one upload for two kinds and for two releases", async () => {
    const key = await newKey();
    const upload = await uploadFile(key);
    const arm = { ...draftOf("1.4.0", upload), release: { ...CORE, architecture: "arm64", version: "1.4.0" } };
    const published = await publish(key.key, [draftOf("1.4.0", upload, { kinds: ["installer", "update"] }), arm]);
    expect(published).toMatchObject({ status: 201, releases: [{ outcome: "added" }, { outcome: "added" }] });
    expect((await readdir(folder())).sort()).toHaveLength(3); // the catalog, one folder, the uploads
  });

  test("stores the file in the object storage where the draft says so", async () => {
    const objects = new Map<string, Buffer>();
    const storage = {
      presignGet: async ({ key }: { key: string }) => `https://s3.example.com/${key}`,
      put: async ({ key, bytes }: { key: string; bytes: AsyncIterable<Uint8Array> }) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of bytes) chunks.push(chunk);
        objects.set(key, Buffer.concat(chunks));
      },
    };
    const [key, bytes] = [await newKey(), randomBytes(5_000)];
    const upload = await uploadFile(key, bytes);
    const draft = draftOf("1.4.0", upload, { destination: { kind: "storage" } });
    expect(await publish(key.key, [draft])).toMatchObject({ status: 422, code: "release_invalid" }); // none is configured
    await withContext({ storage }, async () => {
      expect((await publish(key.key, [draft])).status).toBe(201);
    });
    expect([...objects.values()].map((object) => object.equals(bytes))).toEqual([true]);
  });

  test("changes nothing if one draft is wrong, and the uploads stay", async () => {
    const key = await newKey();
    const [good, bad] = [await uploadFile(key), await uploadFile(key, randomBytes(10), "setup.dmg")];
    const refused = await publish(key.key, [draftOf("1.4.0", good), draftOf("1.5.0", bad)]);
    expect(refused).toMatchObject({
      status: 422,
      code: "release_invalid",
      detail: "setup.dmg is not a file for windows.",
    });
    expect((await list(key.key)).releases).toEqual([]);
    expect([await offsetOf(good), await offsetOf(bad)]).toEqual([1_000, 10]);
    expect((await publish(key.key, [draftOf("1.4.0", good)])).status).toBe(201);
  });

  test("refuses an upload that is incomplete, unknown, another's, or of another hash", async () => {
    const [key, other] = [await newKey(), await newKey()];
    const half = await createUpload(key, 100);
    await sendPart(half, 0, randomBytes(99));
    expect(await publish(key.key, [draftOf("1.4.0", half)])).toMatchObject({
      status: 409,
      code: "upload_incomplete",
      uploadId: half.id,
    });
    const whole = await uploadFile(key);
    for (const upload of [await uploadFile(other), { ...half, id: randomUUID() }]) {
      expect(await publish(key.key, [draftOf("1.4.0", upload)])).toMatchObject({
        status: 422,
        code: "validation_failed",
      });
    }
    expect(await publish(key.key, [draftOf("1.4.0", whole, { expected: { sha256: "0".repeat(64) } })])).toMatchObject({
      status: 409,
      code: "file_changed",
    });
  });

  test("of a version that has other bytes is refused, and the same bytes again change nothing", async () => {
    const [key, bytes] = [await newKey(), randomBytes(1_000)];
    expect((await publish(key.key, [draftOf("1.4.0", await uploadFile(key, bytes))])).status).toBe(201);
    const again = await publish(key.key, [draftOf("1.4.0", await uploadFile(key, bytes))]);
    expect(again).toMatchObject({ status: 201, releases: [{ outcome: "unchanged" }] });
    expect(await publish(key.key, [draftOf("1.4.0", await uploadFile(key))])).toMatchObject({
      status: 409,
      code: "release_conflict",
    });
  });

  test("of what looks like a mistake is published once it is confirmed", async () => {
    const key = await newKey();
    await publish(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    const draft = draftOf("1.5.0", await uploadFile(key));
    const typo = { ...draft, release: { ...draft.release, channel: "nightly" } };
    expect(await publish(key.key, [typo])).toMatchObject({ status: 409, code: "confirmation_required" });
    expect((await publish(key.key, [{ ...typo, confirmations: { isNew: true } }])).status).toBe(201);
  });

  test("by two pipelines at once publishes the version once", async () => {
    const key = await newKey();
    const drafts = [[draftOf("1.4.0", await uploadFile(key))], [draftOf("1.4.0", await uploadFile(key))]];
    const results = await Promise.all(drafts.map((draft) => publish(key.key, draft)));
    expect(results.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await list(key.key)).releases).toHaveLength(1);
  });

  test("with the same Idempotency-Key again gets the first response, although the uploads are gone", async () => {
    const key = await newKey();
    const drafts = [draftOf("1.4.0", await uploadFile(key))];
    const headers = { "idempotency-key": randomUUID() };
    const first = await publish(key.key, drafts, headers);
    const second = await publish(key.key, drafts, headers);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.releases).toEqual(first.releases);
    expect([first, second].map((one) => one.headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    expect(await eventsOf(key, "core-windows-x64-1.4.0")).toHaveLength(1);
    expect((await publish(key.key, drafts)).status).toBe(422);
  });

  test.each([
    [{}, "/releases"],
    [{ releases: [] }, "/releases"],
    [{ releases: [{ release: CORE, files: [] }] }, "/releases/0/files"],
    [
      { releases: [{ release: CORE, files: [{ uploadId: "../../catalog", kinds: ["installer"] }] }] },
      "/releases/0/files/0/uploadId",
    ],
    [
      { releases: [{ release: CORE, files: [{ uploadId: randomUUID(), kinds: ["setup"] }] }] },
      "/releases/0/files/0/kinds/0",
    ],
    [
      { releases: [{ release: CORE, files: [{ uploadId: randomUUID(), kinds: ["update"], file: "/etc/passwd" }] }] },
      "/releases/0/files/0",
    ],
  ])("refuses %j", async (json, pointer) => {
    const response = await call("POST", "/api/admin/releases", { token: (await newKey()).key, json });
    expect([response.status, ((await response.json()) as Body).errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  test.each(["../x", "a/b", "..", ".", "\u0000", ".uploads/x", "ä".repeat(200)])(
    "does not write a file named %j outside its folder",
    async (fileName) => {
      const key = await newKey();
      const refused = await publish(key.key, [draftOf("1.4.0", await uploadFile(key), { artifact: { fileName } })]);
      expect([refused.status, await stat(path.join(folder(), "..", "x")).catch(() => null)]).toEqual([422, null]);
    },
  );
});

describe("a published release", () => {
  test("is listed, changed and removed, each with an event in the audit trail", async () => {
    const key = await newKey();
    for (const version of ["1.4.0", "1.5.0"]) await publish(key.key, [draftOf(version, await uploadFile(key))]);
    const [newest] = (await list(key.key)).releases;
    expect(newest).toMatchObject({ id: "core-windows-x64-1.5.0", rollout: 100 });
    const id = newest?.id ?? "";
    expect(await change("PATCH", id, { token: key.key, json: { rollout: 20 } })).toMatchObject({
      status: 200,
      releases: [{ id, outcome: "changed" }],
    });
    expect(await change("DELETE", id, { token: key.key })).toMatchObject({ status: 409, code: "release_in_use" });
    expect((await change("PATCH", id, { token: key.key, json: { yanked: true } })).status).toBe(200);
    expect(await change("DELETE", `${id}?dryRun=true`, { token: key.key })).toMatchObject({ releases: [id] });
    expect((await list(key.key)).releases).toHaveLength(2);
    expect(await change("DELETE", id, { token: key.key })).toMatchObject({ status: 200, releases: [id] });
    expect((await list(key.key)).releases.map(({ version }) => version)).toEqual(["1.4.0"]);
    expect(await eventsOf(key, id)).toEqual([
      ["release_published", { outcome: "added" }],
      ["release_changed", { from: { rollout: 100 }, to: { rollout: 20 } }],
      ["release_changed", { from: { yanked: false }, to: { yanked: true } }],
      ["release_removed", { version: "1.5.0" }],
    ]);
  });

  test("is found by its id alone: a version or an unknown id is none", async () => {
    const key = await newKey();
    await publish(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    for (const id of ["1.4.0", "core", "%00"]) {
      const changed = await change("PATCH", id, { token: key.key, json: { rollout: 0 } });
      expect([id, changed.status]).toEqual([id, 404]);
    }
    expect((await list(key.key)).releases[0]?.rollout).toBe(100);
  });

  test.each([
    { rollout: 101 },
    { rollout: "1" },
    { minimumSupportedVersion: "x" },
    { version: "2.0.0" },
    { sample: true },
  ])("does not take %j", async (json) => {
    const key = await newKey();
    await publish(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    const id = "core-windows-x64-1.4.0";
    expect((await change("PATCH", id, { token: key.key, json })).status).toBe(422);
  });

  test("is read with less than it is changed with", async () => {
    const key = await newKey();
    await publish(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    const [reader, other] = [
      (await newKey({ scopes: ["releases:read"] })).key,
      (await newKey({ scopes: ["push:send"] })).key,
    ];
    const [support, admin, user] = [
      await accountWithRole("support"),
      await accountWithRole("admin"),
      await newAccount(),
    ];
    const readers = [reader, support.token, admin.token, other, user.token];
    const statuses = [];
    for (const token of readers) statuses.push((await get("/api/admin/releases", { token })).status);
    expect(statuses).toEqual([200, 200, 200, 403, 403]);
    const id = "core-windows-x64-1.4.0";
    for (const token of [reader, support.token, other, user.token]) {
      expect((await change("PATCH", id, { token, json: { rollout: 0 } })).status).toBe(403);
      expect((await change("DELETE", `${id}?force=true`, { token })).status).toBe(403);
      expect((await publish(token, [draftOf("1.5.0", { id: randomUUID(), key: "", path: "" })])).status).toBe(403);
    }
    expect((await get("/api/admin/releases")).status).toBe(401);
    expect((await change("PATCH", id, { token: admin.token, json: { rollout: 50 } })).status).toBe(200);
    clock.advance(11 * 60_000);
    expect(await change("PATCH", id, { token: admin.token, json: { rollout: 0 } })).toMatchObject({
      status: 403,
      code: "reauthentication_required",
    });
    expect((await list(key.key)).releases[0]?.rollout).toBe(50);
  });

  test("is listed by page and by field, and a cursor of another list is refused", async () => {
    const key = await newKey();
    const drafts = [];
    for (const version of ["1.0.0", "1.1.0", "1.2.0"]) drafts.push(draftOf(version, await uploadFile(key)));
    await publish(key.key, drafts);
    const first = await list(key.key, "?limit=2");
    const second = await list(key.key, `?limit=2&cursor=${first.nextCursor}`);
    expect([...first.releases, ...second.releases].map(({ version }) => version)).toEqual(["1.2.0", "1.1.0", "1.0.0"]);
    expect(second.nextCursor).toBeNull();
    expect((await list(key.key, "?version=1.1.0&platform=win32")).releases.map(({ version }) => version)).toEqual([
      "1.1.0",
    ]);
    expect(
      (await get(`/api/admin/keys?cursor=${first.nextCursor}`, { token: (await accountWithRole("admin")).token }))
        .status,
    ).toBe(400);
  });
});

test("a catalog that cannot be read or changed is an error with a code, without the folder of the machine", async () => {
  const key = await newKey();
  await publish(key.key, [draftOf("1.4.0", await uploadFile(key))]);
  const upload = await uploadFile(key);
  await writeFile(path.join(folder(), "catalog.json"), "{");
  const [listed, published] = [
    await get("/api/admin/releases", { token: key.key }),
    await publish(key.key, [draftOf("1.5.0", upload)]),
  ];
  expect([listed.status, published.status, published.code]).toEqual([409, 409, "catalog_invalid"]);
  expect(published.detail).not.toContain(ctx().config.DATA_DIR);
  expect(await readFile(path.join(folder(), "catalog.json"), "utf8")).toBe("{");
  await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, async () => {
    expect(await publish(key.key, [draftOf("1.5.0", upload)])).toMatchObject({
      status: 409,
      code: "catalog_not_editable",
    });
    const read = await list(key.key); // as the URL was last read
    expect(read.releases.map(({ version }) => version)).toEqual(["1.4.0"]);
  });
});
