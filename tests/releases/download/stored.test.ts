import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createObjectStorage } from "@/lib/platform/adapters/s3";
import { loadConfig } from "@/lib/platform/config";
import { call, get } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";
import { hasObjectStorage, type Storage, startObjectStorage } from "@/tests/support/network/object-storage";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";
import { contentLength } from "@/tests/support/server";

const WINDOWS = "/api/download/windows";
const NOWHERE = {
  RELEASE_S3_ENDPOINT: "https://s3.eu-central-1.amazonaws.com",
  RELEASE_S3_BUCKET: "releases",
  RELEASE_S3_REGION: "eu-central-1",
  RELEASE_S3_ACCESS_KEY_ID: "AKIDEXAMPLE",
  RELEASE_S3_SECRET_ACCESS_KEY: "hush-hush",
};

/** Runs `run` with a release whose installer is an object of a storage with these variables. */
async function withObject(
  env: Record<string, string>,
  change: object,
  run: (etag: string) => Promise<void>,
  now = clock.now,
) {
  const config = { ...ctx().config, ...pick(loadConfig(env)) };
  const storage = createObjectStorage(config, now);
  const sha256 = String({ sha256: "ab".repeat(32), ...change }.sha256);
  await withContext({ storage, config }, () =>
    withCatalog(async ({ publish, errors }) => {
      const installer = remoteArtifact({ url: undefined, s3Key: "core/1.0.0/setup.exe", ...change });
      await publish(manifestEntry({ artifacts: { installer } }));
      await run(`"sha256-${sha256}"`);
      expect(errors).toEqual([]);
    }),
  );
}

function pick(config: ReturnType<typeof loadConfig>) {
  return Object.fromEntries(Object.entries(config).filter(([name]) => name.startsWith("RELEASE_S3_")));
}

describe("an installer in the object storage", () => {
  test.each([WINDOWS, `${WINDOWS}?version=1.0.0`])("%s redirects to it for five minutes and is not cached", (url) =>
    withObject(
      NOWHERE,
      {},
      async () => {
        const response = await get(url);
        expect([response.status, response.headers.get("cache-control")]).toEqual([302, "no-store"]);
        const location = new URL(response.headers.get("location") ?? "");
        expect(location.origin + location.pathname).toBe(
          "https://releases.s3.eu-central-1.amazonaws.com/core/1.0.0/setup.exe",
        );
        expect(Object.fromEntries(location.searchParams)).toMatchObject({
          "X-Amz-Expires": "300",
          "X-Amz-Date": "20261201T100000Z",
          "response-content-disposition": "attachment; filename=setup.exe",
          "response-content-type": "application/octet-stream",
        });
        expect(location.href).not.toContain("hush");
      },
      () => new Date("2026-12-01T10:00:00.500Z"),
    ),
  );

  test("is described by HEAD from the catalog, without a request to the storage", () =>
    withObject(NOWHERE, {}, async (etag) => {
      const response = await call("HEAD", WINDOWS);
      expect([response.status, response.body, response.headers.get("content-length")]).toEqual([
        200,
        null,
        contentLength(10),
      ]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        etag,
        "cache-control": "no-store",
        "accept-ranges": "bytes",
        "content-disposition": "attachment; filename=setup.exe",
        "repr-digest": `sha-512=:${Buffer.alloc(64, 1).toString("base64")}:`,
      });
      expect((await call("HEAD", WINDOWS, { headers: { "if-none-match": etag } })).status).toBe(304);
      expect((await call("HEAD", WINDOWS, { headers: { "if-match": '"other"' } })).status).toBe(412);
    }));

  test.each([
    ["https://s3.example.com/", "https://s3.example.com/releases/"],
    ["https://example.com/storage", "https://example.com/storage/releases/"],
    ["https://releases.s3.example.com", "https://releases.s3.example.com/"],
    ["https://s3.cn-north-1.amazonaws.com.cn", "https://releases.s3.cn-north-1.amazonaws.com.cn/"],
    ["https://releases.s3.eu-central-1.amazonaws.com", "https://releases.s3.eu-central-1.amazonaws.com/"],
  ])("with the endpoint %s has a URL below %s", (RELEASE_S3_ENDPOINT, base) =>
    withObject({ ...NOWHERE, RELEASE_S3_ENDPOINT }, { s3Key: "a b/ü+'(1)" }, async () => {
      const { location = "" } = Object.fromEntries((await get(WINDOWS)).headers);
      expect(location.split("?")[0]).toBe(`${base}a%20b/%C3%BC%2B%27%281%29`);
    }),
  );
});

// Debian's python3-swift; .ci/run installs it.
describe.runIf(hasObjectStorage)("on a storage that checks signatures", () => {
  let storage: Storage;
  const bytes = randomBytes(1024 * 1024);
  const s3Key = `core/a b+ü'(1)/${randomUUID()}.exe`;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const upload = { key: s3Key, sizeBytes: bytes.byteLength, sha256, contentType: "application/x-msdownload" };
  const open = (change = {}, now = clock.now, silentMs?: number) =>
    createObjectStorage({ ...ctx().config, ...pick(loadConfig({ ...storage.env, ...change })) }, now, silentMs);
  async function* chunks() {
    for (let at = 0; at < bytes.byteLength; at += 65_536) yield bytes.subarray(at, at + 65_536);
  }

  beforeAll(async () => {
    storage = await startObjectStorage();
    await open()?.put({ ...upload, bytes: chunks() });
  });
  afterAll(() => storage.close());

  test("a download is sent whole, in ranges, and under its file name", () =>
    withObject(storage.env, { s3Key, sha256, fileName: 'Größe "1".exe' }, async () => {
      const { location = "" } = Object.fromEntries((await get(WINDOWS)).headers);
      const whole = await fetch(location);
      expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
      expect(Object.fromEntries(whole.headers)).toMatchObject({
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="Grosse _1_.exe"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.exe`,
      });
      const part = await fetch(location, { headers: { range: "bytes=1000000-" } });
      expect([part.status, Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1_000_000))]).toEqual([
        206,
        true,
      ]);
    }));

  test("a URL is valid for five minutes, for one file, for GET, and only if signed with the right secret", async () => {
    const named = { key: s3Key, contentType: "a/b", contentDisposition: "attachment" };
    const presigned = (await open()?.presignGet(named)) ?? "";
    expect((await fetch(presigned)).status).toBe(200);
    expect((await fetch(presigned, { method: "HEAD" })).status).toBe(403);
    expect((await fetch(presigned.replace(".exe", ".dmg"))).status).toBe(403);
    expect((await fetch(presigned.replace("a%2Fb", "text%2Fhtml"))).status).toBe(403);
    const ago = (ms: number) => () => new Date(clock.now().getTime() - ms);
    expect((await fetch((await open({}, ago(280_000))?.presignGet(named)) ?? "")).status).toBe(200);
    expect((await fetch((await open({}, ago(301_000))?.presignGet(named)) ?? "")).status).toBe(403);
    const other = open({ RELEASE_S3_SECRET_ACCESS_KEY: "another" });
    expect((await fetch((await other?.presignGet(named)) ?? "")).status).toBe(403);
  });

  test("an upload with a wrong secret, or with other bytes than declared, is rejected with the storage's error", async () => {
    const other = open({ RELEASE_S3_SECRET_ACCESS_KEY: "another" });
    await expect(other?.put({ ...upload, bytes: chunks() })).rejects.toThrow(
      /^The storage returned status 403: SignatureDoesNotMatch$/,
    );
    const wrong = open()?.put({ ...upload, key: "wrong", sha256: "0".repeat(64), bytes: chunks() });
    await expect(wrong).rejects.toThrow("400: BadDigest");
    expect((await storage.ask("HEAD", "wrong")).status).toBe(404);
  });
});

test("an upload to a storage that hangs times out", async () => {
  const silent = createServer();
  const RELEASE_S3_ENDPOINT = `http://${await listen(silent)}`;
  const config = { ...ctx().config, ...pick(loadConfig({ ...NOWHERE, RELEASE_S3_ENDPOINT })) };
  const bytes = (async function* () {
    yield Buffer.from("0123456789");
  })();
  const upload = { key: "key", sizeBytes: 10, sha256: "ab".repeat(32), contentType: "a/b", bytes };
  await expect(createObjectStorage(config, clock.now, 100)?.put(upload)).rejects.toThrow("does not respond");
  silent.close();
});
