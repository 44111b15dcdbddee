import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import {
  CORE,
  callReleases,
  draftOf,
  listReleases,
  publishDrafts,
  type ReleasesBody,
  releaseEventsOf,
} from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { createUpload, offsetOf, sendPart, uploadFile } from "@/tests/support/releases/uploads";

const folder = () => path.join(ctx().config.DATA_DIR, "releases");
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

isolateDataFolder();

describe("publishing uploads", () => {
  test("makes releases of several platforms visible at once, without a second copy of their bytes", async () => {
    const key = await newKey();
    const [exe, dmg] = [randomBytes(200_000), randomBytes(100_000)];
    const [windows, mac] = [await uploadFile(key, exe), await uploadFile(key, dmg, "Acme.dmg")];
    const { ino } = await stat(path.join(folder(), ".uploads", `${windows.id}.part`));
    const published = await publishDrafts(key.key, [
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
    expect(await (await get("/api/version?platform=windows&product=core&architecture=x64")).json()).toMatchObject({
      version: "1.4.0",
      artifact: { fileName: "Setup 1.4.0.exe", sha256: sha256(exe) },
    });
    const download = await get("/api/download/macos?product=core&architecture=universal");
    expect(Buffer.from(await download.arrayBuffer()).equals(dmg)).toBe(true);
    expect((await stat(path.join(folder(), sha256(exe).slice(0, 16), "Setup 1.4.0.exe"))).ino).toBe(ino);
    expect(await readdir(path.join(folder(), ".uploads"))).toEqual([]);
    expect(await releaseEventsOf(key, "core-windows-x64-1.4.0")).toEqual([["release_published", { outcome: "added" }]]);
  });

  test("uses one upload for two kinds and for two releases", async () => {
    const key = await newKey();
    const upload = await uploadFile(key);
    const arm = { ...draftOf("1.4.0", upload), release: { ...CORE, architecture: "arm64", version: "1.4.0" } };
    const published = await publishDrafts(key.key, [draftOf("1.4.0", upload, { kinds: ["installer", "update"] }), arm]);
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
        return null;
      },
    };
    const [key, bytes] = [await newKey(), randomBytes(5_000)];
    const upload = await uploadFile(key, bytes);
    const draft = draftOf("1.4.0", upload, { destination: { kind: "storage" } });
    expect(await publishDrafts(key.key, [draft])).toMatchObject({ status: 422, code: "release_invalid" }); // none is configured
    await withContext({ storage }, async () => {
      expect((await publishDrafts(key.key, [draft])).status).toBe(201);
    });
    expect([...objects.values()].map((object) => object.equals(bytes))).toEqual([true]);
  });

  test("changes nothing if the object storage fails, and the upload stays", async () => {
    const storage = {
      presignGet: async () => "",
      put: async () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })),
    };
    const key = await newKey();
    const upload = await uploadFile(key);
    const draft = draftOf("1.4.0", upload, { destination: { kind: "storage" } });
    await withContext({ storage }, async () => {
      expect(await publishDrafts(key.key, [draft])).toMatchObject({
        status: 503,
        code: "artifact_unavailable",
        detail: "The object storage did not take a file, so nothing was published: connect ECONNREFUSED",
      });
    });
    expect((await listReleases(key.key)).releases).toEqual([]);
    expect(await offsetOf(upload)).toBe(1_000);
  });

  test("changes nothing if one draft is wrong, and the uploads stay", async () => {
    const key = await newKey();
    const [good, bad] = [await uploadFile(key), await uploadFile(key, randomBytes(10), "setup.dmg")];
    expect(await publishDrafts(key.key, [draftOf("1.4.0", good), draftOf("1.5.0", bad)])).toMatchObject({
      status: 422,
      code: "release_invalid",
      detail: "setup.dmg is not a file for windows.",
    });
    expect((await listReleases(key.key)).releases).toEqual([]);
    expect([await offsetOf(good), await offsetOf(bad)]).toEqual([1_000, 10]);
    expect((await publishDrafts(key.key, [draftOf("1.4.0", good)])).status).toBe(201);
  });

  test("refuses an upload that is incomplete, unknown, another's, or of another hash", async () => {
    const [key, other] = [await newKey(), await newKey()];
    const half = await createUpload(key, 100);
    await sendPart(half, 0, randomBytes(99));
    expect(await publishDrafts(key.key, [draftOf("1.4.0", half)])).toMatchObject({
      status: 409,
      code: "upload_incomplete",
      uploadId: half.id,
    });
    const whole = await uploadFile(key);
    for (const upload of [await uploadFile(other), { ...half, id: randomUUID() }]) {
      expect(await publishDrafts(key.key, [draftOf("1.4.0", upload)])).toMatchObject({
        status: 422,
        code: "validation_failed",
      });
    }
    expect(
      await publishDrafts(key.key, [draftOf("1.4.0", whole, { expected: { sha256: "0".repeat(64) } })]),
    ).toMatchObject({ status: 409, code: "file_changed" });
  });

  test("of what looks like a mistake is published once it is confirmed", async () => {
    const key = await newKey();
    await publishDrafts(key.key, [draftOf("1.4.0", await uploadFile(key))]);
    const draft = draftOf("1.5.0", await uploadFile(key));
    const typo = { ...draft, release: { ...draft.release, channel: "nightly" } };
    expect(await publishDrafts(key.key, [typo])).toMatchObject({ status: 409, code: "confirmation_required" });
    const confirmations = { isNew: true };
    const inRelease = { ...typo, release: { ...typo.release, confirmations } };
    for (const misplaced of [{ releases: [typo], confirmations }, { releases: [inRelease] }]) {
      const { status, detail = "", errors } = await callReleases("POST", "", key.key, misplaced);
      expect([status, `${detail}${JSON.stringify(errors)}`]).toEqual([422, expect.stringContaining("confirmations")]);
    }
    expect((await publishDrafts(key.key, [{ ...typo, confirmations }])).status).toBe(201);
  });

  test("by two pipelines at once publishes the version once", async () => {
    const key = await newKey();
    const drafts = [[draftOf("1.4.0", await uploadFile(key))], [draftOf("1.4.0", await uploadFile(key))]];
    const results = await Promise.all(drafts.map((draft) => publishDrafts(key.key, draft)));
    expect(results.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await listReleases(key.key)).releases).toHaveLength(1);
  });

  test.each([
    [{ releases: [] }, "/releases"],
    [
      { releases: [{ release: CORE, files: [{ uploadId: "../../catalog", kinds: ["installer"] }] }] },
      "/releases/0/files/0/uploadId",
    ],
    [
      { releases: [{ release: CORE, files: [{ uploadId: randomUUID(), kinds: ["update"], file: "/etc/passwd" }] }] },
      "/releases/0/files/0",
    ],
  ])("refuses %j", async (json, pointer) => {
    const response = await call("POST", "/api/admin/releases", { token: (await newKey()).key, json });
    expect([response.status, ((await response.json()) as ReleasesBody).errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  test.each(["../x", "..", "\u0000", ".uploads/x"])(
    "does not write a file named %j outside its folder",
    async (fileName) => {
      const key = await newKey();
      const refused = await publishDrafts(key.key, [
        draftOf("1.4.0", await uploadFile(key), { artifact: { fileName } }),
      ]);
      expect([refused.status, await stat(path.join(folder(), "..", "x")).catch(() => null)]).toEqual([422, null]);
    },
  );
});
